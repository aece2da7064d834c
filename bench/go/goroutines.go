// Goroutines that wait for each other in the ways of Go, with a known share of work in heavy.
//
//	goroutines KIND SECONDS SHARE
//
// Does SHARE of heavy's work, for so many seconds, and prints rounds per second.
package main

import (
	"fmt"
	"os"
	"runtime"
	_ "runtime/cgo" // coz needs the C library
	"strconv"
	"sync"
	"time"
)

// Each takes a little more than a nanosecond.
const stepsPerUs = 700

func steps(n int) uint64 {
	x := uint64(n)
	for i := 0; i < n; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

var share = 1.0

//go:noinline
func heavy(us float64) uint64 {
	n := int(us * stepsPerUs * share)
	x := uint64(n)
	for i := 0; i < n; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func light(us float64) uint64 { return steps(int(us * stepsPerUs)) }

var rounds int

//go:noinline
func round() { rounds++ }

var end time.Time

func goOn() bool { return time.Now().Before(end) }

func serial() {
	for goOn() {
		heavy(500)
		light(500)
		round()
	}
}

// Two goroutines in each round, which a wait group joins.
func forkJoin() {
	for goOn() {
		var group sync.WaitGroup
		group.Add(2)
		go func() { heavy(1000); group.Done() }()
		go func() { light(600); group.Done() }()
		group.Wait()
		round()
	}
}

func pipeline() {
	items := make(chan int)
	go func() {
		for {
			heavy(800)
			items <- 1
		}
	}()
	for goOn() {
		<-items
		light(500)
		round()
	}
}

// Each waits for the other.
func pingPong() {
	there, back := make(chan int), make(chan int)
	go func() {
		for {
			<-there
			heavy(400)
			back <- 1
		}
	}()
	for goOn() {
		light(400)
		there <- 1
		<-back
		round()
	}
}

// Four goroutines at a buffered channel, on two CPUs.
func pool() {
	tasks, done := make(chan int, 8), make(chan int, 8)
	for i := 0; i < 4; i++ {
		go func() {
			for range tasks {
				heavy(300)
				light(200)
				done <- 1
			}
		}()
	}
	for i := 0; i < 4; i++ {
		tasks <- 1
	}
	for goOn() {
		<-done
		round()
		tasks <- 1
	}
}

// Two goroutines that need one lock for a part of their time.
func mutex() {
	var lock sync.Mutex
	var group sync.WaitGroup
	for i := 0; i < 2; i++ {
		group.Add(1)
		go func() {
			for goOn() {
				light(300)
				lock.Lock()
				heavy(400)
				round()
				lock.Unlock()
			}
			group.Done()
		}()
	}
	group.Wait()
}

func main() {
	kinds := map[string]func(){"serial": serial, "fork_join": forkJoin, "pipeline": pipeline, "ping_pong": pingPong,
		"pool": pool, "mutex": mutex}
	var run func()
	if len(os.Args) == 4 {
		run = kinds[os.Args[1]]
	}
	if run == nil {
		fmt.Fprintln(os.Stderr, "usage: goroutines KIND SECONDS SHARE")
		os.Exit(2)
	}
	seconds, _ := strconv.ParseFloat(os.Args[2], 64)
	share, _ = strconv.ParseFloat(os.Args[3], 64)
	runtime.GOMAXPROCS(2)
	start := time.Now()
	end = start.Add(time.Duration(seconds * float64(time.Second)))
	run()
	fmt.Printf("%.1f\n", float64(rounds)/time.Since(start).Seconds())
}

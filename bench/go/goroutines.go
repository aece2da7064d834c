// Goroutines that wait for each other in the ways of Go, with a known share of work in heavy.
//
//	goroutines KIND SECONDS SHARE
//
// Does SHARE of heavy's work, for so many seconds, and prints rounds per second. The server's load
// comes from a second process.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	_ "runtime/cgo" // coz needs the C library
	"strconv"
	"sync"
	"sync/atomic"
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

// What heavy reads where its work is done by a library.
var bytesOfLibrary []byte

const bytesPerUs = 300

//go:noinline
func heavy(us float64) uint64 {
	if bytesOfLibrary != nil {
		return uint64(sha256.Sum256(bytesOfLibrary[:int(us*bytesPerUs*share)])[0])
	}
	n := int(us * stepsPerUs * share)
	x := uint64(n)
	for i := 0; i < n; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func light(us float64) uint64 { return steps(int(us * stepsPerUs)) }

var rounds int64

//go:noinline
func round() { atomic.AddInt64(&rounds, 1) }

var end time.Time

func goOn() bool { return time.Now().Before(end) }

func serial() {
	for goOn() {
		heavy(500)
		light(500)
		round()
	}
}

// All of heavy's work is done by a function of Go's library, which is out of scope.
func library() {
	bytesOfLibrary = make([]byte, 500*bytesPerUs)
	serial()
}

type node struct {
	next  *node
	value [6]int
}

func list(length int) *node {
	var head *node
	for i := 0; i < length; i++ {
		head = &node{next: head}
	}
	return head
}

// Makes garbage, dozens of times as much in a second as is in use.
func garbage() {
	inUse := list(100000)
	var last *node
	for goOn() {
		heavy(600)
		last = list(2000)
		round()
	}
	runtime.KeepAlive(inUse)
	runtime.KeepAlive(last)
}

type item struct {
	Name  string
	Parts []int
}

func answer(response http.ResponseWriter, _ *http.Request) {
	heavy(200)
	items := make([]item, 20)
	for i := range items {
		items[i] = item{fmt.Sprint("item ", i), []int{i, 2, 3}}
	}
	json.NewEncoder(response).Encode(items)
	round()
}

const connections = 8

// Asks the server at an address until it ends.
func ask(address string) {
	runtime.GOMAXPROCS(1)
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = connections
	var group sync.WaitGroup
	for i := 0; i < connections; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for {
				response, err := http.Get("http://" + address)
				if err != nil {
					return
				}
				io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
		}()
	}
	group.Wait()
}

func server() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	client := exec.Command(os.Args[0], "ask", listener.Addr().String(), "")
	if err := client.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go http.Serve(listener, http.HandlerFunc(answer))
	time.Sleep(time.Until(end))
	client.Process.Kill()
	client.Wait()
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
		"pool": pool, "mutex": mutex, "library": library, "garbage": garbage, "server": server}
	var run func()
	if len(os.Args) == 4 && os.Args[1] == "ask" {
		ask(os.Args[2])
		return
	}
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

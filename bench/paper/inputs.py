"""Inputs of PARSEC's programs, made here: always the same for the same numbers."""
import random
import struct

_FLUID_LOW = (-0.065, -0.08, -0.065)  # metres: the box of fluidanimate
_FLUID_HIGH = (0.065, 0.1, 0.065)
_BLOCK = 1 << 16


def options(path, count):
    """Share options for blackscholes: a line each."""
    chance = random.Random(1)
    with open(path, "w", encoding="ascii") as file:
        file.write("%d\n" % count)
        for _ in range(count):
            file.write("%.2f %.2f %.4f 0.00 %.2f %.2f %s 0.00 0\n" % (
                chance.uniform(20, 120), chance.uniform(20, 120), chance.uniform(0.02, 0.1), chance.uniform(0.05, 0.65),
                chance.uniform(0.05, 1), chance.choice("PC")))


def blocks(path, megabytes, repeated):
    """Random bytes for dedup, in which a share `repeated` of the blocks has been there before."""
    chance = random.Random(1)
    often = [chance.randbytes(_BLOCK) for _ in range(64)]
    with open(path, "wb") as file:
        for _ in range(megabytes << 20 >> 16):
            file.write(chance.choice(often) if chance.random() < repeated else chance.randbytes(_BLOCK))


def fluid(path, particles_per_metre, count):
    """Particles for fluidanimate, at rest, layer by layer from the bottom of the box."""
    step = 1 / particles_per_metre
    sides = [[low + step * (i + 0.5) for i in range(int((high - low) / step))] for low, high in zip(_FLUID_LOW, _FLUID_HIGH)]
    places = [(x, y, z) for y in sides[1] for x in sides[0] for z in sides[2]][:count]
    if len(places) < count:
        raise ValueError("%d particles do not fit into the box" % count)
    with open(path, "wb") as file:
        file.write(struct.pack("<fi", particles_per_metre, count))
        for place in places:
            file.write(struct.pack("<9f", *place, 0, 0, 0, 0, 0, 0))


def features(path, images, regions, dimensions):
    """What ferret knows of each image: some regions, each with a weight and a vector."""
    chance = random.Random(1)
    with open(path, "w", encoding="ascii") as file:
        for image in range(images):
            file.write("image%d.jpg %d\n" % (image, regions))
            for _ in range(regions):
                file.write("%.4f %s\n" % (1 / regions, " ".join("%.4f" % chance.gauss(0, 1) for _ in range(dimensions))))


def picture(path, side, seed):
    """A portable pixmap of some rectangles of one colour each, for cjpeg."""
    chance = random.Random(seed)
    background = bytes(chance.randrange(256) for _ in range(3))
    rows = [bytearray(background * side) for _ in range(side)]
    for _ in range(6):
        left, right = sorted(chance.sample(range(side + 1), 2))
        top, bottom = sorted(chance.sample(range(side + 1), 2))
        colour = bytes(chance.randrange(256) for _ in range(3))
        for row in rows[top:bottom]:
            row[3 * left:3 * right] = colour * (right - left)
    with open(path, "wb") as file:
        file.write(b"P6\n%d %d\n255\n" % (side, side) + b"".join(rows))

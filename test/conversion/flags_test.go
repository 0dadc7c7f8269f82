package conversion

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"
)

var (
	seed    = flag.Uint64("seed", 0, "seed of the random tests; 0 takes one from the clock")
	objects = flag.Int("objects", 2000, "random objects per kind and direction")
)

// newRandom returns a generator whose seed is printed and can be given back with -seed.
func newRandom(t testing.TB, s side) *random {
	value := *seed
	if value == 0 {
		value = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d (repeat with -seed=%d)", value, value)
	return &random{Rand: rand.New(rand.NewPCG(value, value)), t: t, side: s}
}

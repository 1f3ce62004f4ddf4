// SPDX-License-Identifier: GPL-2.0-or-later

// shares.go: known shares and a known call tree, as every shares.* here (README.md).
// With methods, generics, closures, a goroutine beside it, and a garbage collector.
package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

const (
	F60 = iota
	F30
	F10
	CALLS_LEAF
	DIVE
	ASK_KERNEL
	REPORT
	N
)

var names = [N]string{"f60", "f30", "f10", "calls_leaf", "dive", "ask_kernel", "report"}
var ticks, calls [N]int64
var began = time.Now()
var start, unit, seq int64

func now() int64 { return int64(time.Since(began)) }

func spin(n int64) int64 {
	x := n
	for i := int64(0); i < n; i++ {
		x = x*3 + i ^ x>>7
	}
	return x
}

//go:noinline
func f60(n int64) int64 { // lines of f60
	return spin(6 * n)
} // end

type Number interface{ ~int64 }

type Box[T Number] struct{ value T }

//go:noinline
func (b *Box[T]) f30(n T) T { // lines of f30
	return b.value + T(spin(3*int64(n)))
} // end

var kept [64][]int64

//go:noinline
func f10(n int64) int64 { // lines of f10
	kept[n&63] = make([]int64, 16) // the collector gets to work
	return spin(n) + 2
} // end

//go:noinline
func leaf[T Number](x T) T { // lines of leaf
	for i := 0; i < 20; i++ {
		x = x*5 + 1 ^ x>>3
	}
	return x
} // end

//go:noinline
func calls_leaf(n int64) int64 {
	x := n
	for i := int64(0); i < n/10; i++ {
		x ^= leaf(x)
	}
	return x
}

//go:noinline
func dive(n int64, depth int) int64 {
	if depth == 0 {
		return spin(n)
	}
	return dive(n, depth-1) + int64(depth)
}

//go:noinline
func ask_kernel(n int64) int64 {
	x := int64(0)
	var usage syscall.Rusage
	for i := int64(0); i < n/200+1; i++ {
		syscall.Getrusage(0, &usage)
		x += usage.Nsignals + int64(syscall.Getppid())
	}
	return x
}

//go:noinline
func report() {
	total := int64(0)
	seq++
	line := fmt.Sprintf(`TRUTH {"vcpu":0,"seq":%d,"tsc":%d,"tsc_hz":1000000000,"fn":{`, seq, now())
	for i, name := range names {
		total += ticks[i]
		if i > 0 {
			line += ","
		}
		line += fmt.Sprintf(`"%s":{"calls":%d,"self":%d}`, name, calls[i], ticks[i])
	}
	os.Stdout.WriteString(line + fmt.Sprintf("},\"idle\":0,\"total\":%d}\n", total))
}

func count(function int) {
	t := now()
	ticks[function] += t - start
	calls[function]++
	start = t
}

//go:noinline
func stage(n int64, box *Box[int64]) int64 {
	x := f60(n)
	count(F60)
	x += box.f30(n)
	count(F30)
	x += f10(n)
	count(F10)
	x += calls_leaf(n)
	count(CALLS_LEAF)
	x += dive(n, 20)
	count(DIVE)
	x += ask_kernel(n)
	count(ASK_KERNEL)
	return x
}

//go:noinline
func run(done chan int64) {
	box, next := &Box[int64]{1}, int64(0)
	for {
		box.value += stage(unit, box)
		if start > next {
			report()
			next = start + 500000000
			count(REPORT)
		}
		select {
		case done <- box.value:
			return
		default:
		}
	}
}

func tree() {
	fmt.Println("TREE run\nTREE run;report\nTREE run;stage")
	for _, name := range []string{"f60", "f30", "f10", "calls_leaf", "calls_leaf;leaf", "ask_kernel"} {
		fmt.Println("TREE run;stage;" + name)
	}
	path := "TREE run;stage"
	for depth := 0; depth <= 20; depth++ {
		path += ";dive"
		fmt.Println(path)
	}
	fmt.Println("READY vcpus=1")
}

func main() {
	runtime.GOMAXPROCS(1)
	tree()
	start = now()
	kept[0] = append(kept[0], spin(300000))
	unit = 300000*3000000/(now()-start+1) + 1
	start = now()
	done := make(chan int64)
	go run(done)
	time.Sleep(1 << 62)
	<-done
}

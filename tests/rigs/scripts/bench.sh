# What a look costs beside the least that a stop by ptrace costs: a ratio, for no time
# in here is that of hardware.
# needs: tests/bench/bench-kvm tests/bench/work.elf
run "$BUILD/tests/bench/bench-kvm" "$BUILD/tests/bench/work.elf"

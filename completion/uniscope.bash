# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion for uniscope: options come from the program's own --help, so they
# are always up to date.

_uniscope_options() {
	"$1" "$2" --help 2>/dev/null |
		sed -nE '/^options:/,/^examples:/s/^(  -., |      )(--[a-z-]+).*/\2/p'
}

_uniscope_targets() {
	"$1" ps 2>/dev/null | awk '/^ *[0-9]+ / {print $1; if ($2 != "-") print $2}'
}

_uniscope() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]}
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W "$("$program" --help | sed -n 's/^  \([a-z]*\) .*/\1/p') --help --version" -- "$cur"))
		return
	fi
	case $prev in
	--check) COMPREPLY=($(compgen -W "bpf kvm" -- "$cur")); return ;;
	--backend)
		[[ $command == dump ]] && COMPREPLY=($(compgen -W "auto bpf kvm gdb qmp xen" -- "$cur")) && return
		COMPREPLY=($(compgen -W "auto bpf kvm plugin gdb qmp xen" -- "$cur"))
		return ;;
	--format | -f)
		case $command in
		replay) COMPREPLY=($(compgen -W "graph html perfetto chrome csv uftrace strace calls functions" -- "$cur")); [[ $prev == -f ]] && COMPREPLY=(); return ;;
		trace) return ;;
		diff) COMPREPLY=($(compgen -W "text json html" -- "$cur")); return ;;
		esac
		COMPREPLY=($(compgen -W "text json folded callgrind pprof speedscope firefox chrome perf html qprofiler exits phases tree" -- "$cur"))
		return ;;
	--port) COMPREPLY=($(compgen -W "9970" -- "$cur")); return ;;
	--listen) [[ $command == serve ]] && COMPREPLY=($(compgen -W "127.0.0.1:9970" -- "$cur")) && return
		COMPREPLY=($(compgen -W "127.0.0.1:9090" -- "$cur"))
		return ;;
	--by)
		[[ $command == diff ]] && COMPREPLY=($(compgen -W "share time" -- "$cur")) && return
		[[ $command == report ]] && COMPREPLY=($(compgen -W "process thread comm container" -- "$cur")) && return
		COMPREPLY=($(compgen -W "plugin log breakpoints samples kvm output" -- "$cur")); return ;;
	--tasks) [[ $command != dump ]] && COMPREPLY=($(compgen -W "4" -- "$cur")) && return ;;
	--color) COMPREPLY=($(compgen -W "auto always never" -- "$cur")); return ;;
	--group-by) COMPREPLY=($(compgen -W "guest recording vcpu state process thread comm container image file" -- "$cur")); return ;;
	--filter) [[ $command != top && $command != trace && $command != replay ]] && COMPREPLY=($(compgen -S = -W "guest recording vcpu state process thread comm container image file function" -- "$cur")); return ;;
	--sort)
		[[ $command == top ]] && COMPREPLY=($(compgen -W "self total name process thread comm container" -- "$cur")) && return
		COMPREPLY=($(compgen -W "self total name file process thread comm container image" -- "$cur")); return ;;
	-w | --window) [[ $command == top ]] && COMPREPLY=($(compgen -W "1s 5s 15s 60s all" -- "$cur")); return ;;
	-i) [[ $command != top ]] && COMPREPLY=($(compgen -f -- "$cur")); return ;;
	-e | --elf | --input | -o | --output | --source | --compare | --before | --after | --kallsyms) COMPREPLY=($(compgen -f -- "$cur")); return ;;
	--symbols | --root | --prepare) COMPREPLY=($(compgen -d -- "$cur")); return ;;
	esac
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$(_uniscope_options "$program" "$command")" -- "$cur"))
		return
	fi
	# trace has a target only with these, and a command or nothing without.
	local words=" ${COMP_WORDS[*]} "
	[[ $command == trace && $words != *" -- "* && $words =~ \ --(on|off|snapshot|listen)[\ =] ]] && command=ps
	case $command in
	record | dump | top | serve | ps)
		COMPREPLY=($(compgen -W "$(_uniscope_targets "$program")" -- "$cur"))
		[[ $command == serve ]] && COMPREPLY+=($(compgen -f -- "$cur"))
		;;
	report | annotate | diff | import | count | trace | replay) COMPREPLY=($(compgen -f -- "$cur")) ;;
	esac
}
complete -o filenames -F _uniscope uniscope

# Stops a server when the process that started it has ended, also by a kill.
# Stdin: the process id of the server on one line, then nothing until the starter has ended.
# Arguments: the wait after each signal in tenths of a second, the signals, "--", then the folders to
# remove at the end.
tenths=$1
shift
signals=
while [ "$1" != -- ]; do
    signals="$signals $1"
    shift
done
shift

alive() {
    kill -0 "$pid" 2>/dev/null || return 1
    # A zombie still has an id.
    if read -r stat 2>/dev/null <"/proc/$pid/stat"; then
        case $stat in *') Z '*) return 1 ;; esac
    fi
    return 0
}

if read -r pid; then
    while read -r _; do :; done
    for signal in $signals; do
        kill -s "$signal" "$pid" 2>/dev/null
        kill -s CONT "$pid" 2>/dev/null
        waited=0
        while alive && [ "$waited" -lt "$tenths" ]; do
            sleep 0.1
            waited=$((waited + 1))
        done
        alive || break
    done
fi
[ $# -eq 0 ] || rm -rf -- "$@"

# Stops a server when the process that started it has died, however it died.
# Stdin: the server's process id on one line, then nothing until the starter is gone.
# Arguments: the number of tenths of a second to wait after each signal, the signals, "--", then the
# folders to remove in the end.
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
    # A process that nobody collects still has an id.
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

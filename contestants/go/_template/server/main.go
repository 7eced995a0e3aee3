// @NAME@: ws.echo and ws.count.
//
// The lines to edit are marked EDIT. The lab gives the workload, the address and the number of threads in the environment, takes the
// server for ready when it accepts, and ends it with SIGTERM. A client goes into client/main.go.
package main

import (
	"encoding/json"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/gorilla/websocket" // EDIT
)

type message struct {
	C  int64 `json:"c"`
	TS int64 `json:"ts"`
}

// {"c":n} -> {"c":n,"ts":<unix seconds>}
func count(body []byte) ([]byte, error) {
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, err
	}
	m.TS = time.Now().Unix()
	return json.Marshal(m)
}

var upgrader = websocket.Upgrader{} // EDIT

func serve(w http.ResponseWriter, r *http.Request) {
	conn, err := upgrader.Upgrade(w, r, nil) // EDIT
	if err != nil {
		return
	}
	defer conn.Close()
	isEcho := os.Getenv("WIREBENCH_WORKLOAD") == "ws.echo"
	for {
		kind, body, err := conn.ReadMessage() // EDIT
		if err == nil && !isEcho {
			body, err = count(body)
		}
		if err != nil || conn.WriteMessage(kind, body) != nil { // EDIT
			return
		}
	}
}

func main() {
	threads, _ := strconv.Atoi(os.Getenv("WIREBENCH_THREADS"))
	runtime.GOMAXPROCS(threads)
	http.HandleFunc("/", serve)                                                                                     // EDIT
	log.Fatal(http.ListenAndServe(net.JoinHostPort(os.Getenv("WIREBENCH_HOST"), os.Getenv("WIREBENCH_PORT")), nil)) // EDIT
}

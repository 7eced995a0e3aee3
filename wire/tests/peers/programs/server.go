// Go's net/http server for wire's client: server PORT [CERTIFICATE KEY].
package main

import (
	"compress/gzip"
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
)

var block = func() []byte {
	made := make([]byte, 64<<10)
	for i := range made {
		made[i] = byte(i*7 + i/251)
	}
	return made
}()

func write(to io.Writer, size int) {
	for size > 0 {
		n, err := to.Write(block[:min(size, len(block))])
		if err != nil {
			return
		}
		size -= n
	}
}

func size(r *http.Request) int {
	n, _ := strconv.Atoi(r.PathValue("bytes"))
	return n
}

func main() {
	http.HandleFunc("/hello", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello\n") })
	http.HandleFunc("/bytes/{bytes}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(size(r)))
		write(w, size(r))
	})
	http.HandleFunc("/chunks/{bytes}", func(w http.ResponseWriter, r *http.Request) { write(w, size(r)) })
	http.HandleFunc("/packed/{bytes}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		packer := gzip.NewWriter(w)
		write(packer, size(r))
		packer.Close()
	})
	http.HandleFunc("/sum", func(w http.ResponseWriter, r *http.Request) {
		sum := crc32.NewIEEE()
		n, _ := io.Copy(sum, r.Body)
		fmt.Fprintf(w, "%d %d", n, sum.Sum32())
	})
	http.Handle("/redirect", http.RedirectHandler("/hello", http.StatusFound))
	address := "127.0.0.1:" + os.Args[1]
	if len(os.Args) > 3 {
		log.Fatal(http.ListenAndServeTLS(address, os.Args[2], os.Args[3], nil))
	}
	log.Fatal(http.ListenAndServe(address, nil))
}

// Fiber as a server: http.hello, rest.
package main

import (
	"encoding/json"
	"log"
	"net"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/gofiber/fiber/v3"
)

func text(body string) fiber.Handler {
	return func(c fiber.Ctx) error { return c.SendString(body) }
}

// connections are fewer than the files that may be open: fasthttp's server ends when an accept
// fails for too many of them.
func connections() int {
	const others = 64
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil {
		return fiber.DefaultConcurrency
	}
	return max(1, int(min(files.Cur, fiber.DefaultConcurrency+others))-others)
}

func main() {
	threads, _ := strconv.Atoi(os.Getenv("WIREBENCH_THREADS"))
	runtime.GOMAXPROCS(threads) // below 1 changes nothing
	delayMs, _ := strconv.Atoi(os.Getenv("WIREBENCH_DELAY_MS"))
	delay := time.Duration(delayMs) * time.Millisecond
	handlers := make(chan struct{}, max(threads, 1)) // goroutines are not bounded by themselves

	app := fiber.New(fiber.Config{
		ReadTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute,
		Concurrency: connections(),
	})
	app.Get("/route_01", text("hello from route_01"))
	app.Get("/route_02", text("hello from route_02"))
	app.Get("/test/status", text("OK"))
	app.Get("/test/labels/:label", func(c fiber.Ctx) error {
		return c.SendString("label: " + c.Params("label"))
	})
	app.Post("/test", func(c fiber.Ctx) error {
		if !json.Valid(c.Body()) {
			return c.Status(fiber.StatusBadRequest).SendString("expected JSON")
		}
		if delay > 0 {
			handlers <- struct{}{}
			time.Sleep(delay)
			<-handlers
		}
		return c.SendString("Sending response: " + string(c.Body()))
	})

	// Several handlers of one service in rest; else processes, each with one.
	prefork := threads > 1 && os.Getenv("WIREBENCH_WORKLOAD") != "rest"
	address := net.JoinHostPort(os.Getenv("WIREBENCH_HOST"), os.Getenv("WIREBENCH_PORT"))
	log.Fatal(app.Listen(address, fiber.ListenConfig{
		DisableStartupMessage: true,
		EnablePrefork:         prefork,
		CertFile:              os.Getenv("WIREBENCH_TLS_CERT"),
		CertKeyFile:           os.Getenv("WIREBENCH_TLS_KEY"),
	}))
}

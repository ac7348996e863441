// Program nslookup prints the addresses of a name, found with the search list as the C library does.
//
// The nslookup of Alpine up to 3.11.2 does the same. That of newer busybox asks for the name in each domain of the list
// and fails if one of them does not know it, so that the short name of a service is never found.
package main

import (
	"fmt"
	"net"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: nslookup HOST")
		os.Exit(2)
	}
	addresses, err := net.LookupHost(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "nslookup:", err)
		os.Exit(1)
	}
	for _, address := range addresses {
		fmt.Println("Address:", address)
	}
}

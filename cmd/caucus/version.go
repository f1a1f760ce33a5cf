package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version is set at build time: -ldflags "-X main.Version=v1.2.3".
var Version = ""

func version() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return "devel-" + s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return "devel"
}

func newVersion(c *console) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			doc := map[string]string{"version": version(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH}
			return c.print(doc, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "caucus %s (%s, %s)\n", doc["version"], doc["go"], doc["platform"])
				return err
			})
		},
	}
}

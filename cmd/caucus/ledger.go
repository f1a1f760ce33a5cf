package main

import "github.com/spf13/cobra"

func newLedger(c *console) *cobra.Command { return &cobra.Command{Use: "ledger"} }
func newPrivacy(c *console) *cobra.Command { return &cobra.Command{Use: "privacy"} }

package study

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Result is the outcome of a study: numbers and words made from released numbers alone.
type Result struct {
	Body     json.RawMessage `json:"body"` // the kind's body as canonical JSON
	Warnings []string        `json:"warnings,omitempty"`
}

// NewResult encodes a kind's body as canonical JSON, which DecodeBody demands. Warnings are
// sentences for readers of the release.
func NewResult(body any, warnings []string) (Result, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return Result{}, fmt.Errorf("encode result: %w", err)
	}
	return Result{Body: b, Warnings: warnings}, nil
}

// DecodeBody reads the kind's body. It refuses unknown fields and non-canonical JSON.
func (r Result) DecodeBody(body any) error {
	if err := DecodeStrictJSON(r.Body, body); err != nil {
		return fmt.Errorf("read result: %w", err)
	}
	canonical, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("read result: %w", err)
	}
	if !bytes.Equal(canonical, compact(r.Body)) {
		return fmt.Errorf("read result: it is not written in the canonical way: it was changed")
	}
	return nil
}

func compact(text []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil {
		return text
	}
	return out.Bytes()
}

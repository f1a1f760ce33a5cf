package agent

import (
	"caucus/study"
)

// dayTaken are the studies that this site took up in a day.
type dayTaken struct {
	Day     string       `json:"day"` // UTC
	Studies []study.Hash `json:"studies"`
}

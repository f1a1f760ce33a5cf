package protocol

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"caucus/study"
)

// These errors keep their meaning across the wire, as the errors of package study do.
var (
	// ErrUnavailable says that the other end is down, restarting, or cannot store now. Callers
	// decide about retries; a command for people does not retry.
	ErrUnavailable = errors.New("the coordinator is not available")
	ErrHelper      = errors.New("the helper is not available")
	// ErrBusy says that the caller exceeds a limit on rate or concurrency.
	ErrBusy = errors.New("too many calls at once: try again later")
	// ErrDenied says that the certificate does not allow this call, or no longer does.
	ErrDenied  = errors.New("access denied")
	ErrExpired = errors.New("expired")
	ErrClock   = errors.New("the clocks disagree")
	// ErrNotFound says that there is no such study, pool or member, or that the caller may not see
	// it.
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("exists already")
	ErrTooLarge = errors.New("too large")
	// ErrDamaged says that the bytes differ from those that were sent or signed.
	ErrDamaged = errors.New("damaged")
	ErrInvalid = errors.New("invalid request")
)

// reasons maps each error to its gRPC code and its reason on the wire. The first match counts.
var reasons = []struct {
	err    error
	code   codes.Code
	reason string
}{
	{study.ErrDifferentUpload, codes.AlreadyExists, "OTHER_BYTES"},
	{study.ErrDifferentPlan, codes.FailedPrecondition, "OTHER_PLAN"},
	{study.ErrNotEnrolled, codes.PermissionDenied, "NOT_ENROLLED"},
	{study.ErrNotOpen, codes.FailedPrecondition, "NOT_OPEN"},
	{study.ErrContribution, codes.InvalidArgument, "CONTRIBUTION"},
	{study.ErrAmendment, codes.InvalidArgument, "AMENDMENT"},
	{study.ErrTooFew, codes.FailedPrecondition, "TOO_FEW"},
	{study.ErrPlan, codes.InvalidArgument, "PLAN"},
	{ErrTooLarge, codes.ResourceExhausted, "TOO_LARGE"},
	{ErrBusy, codes.ResourceExhausted, "BUSY"},
	{ErrExpired, codes.PermissionDenied, "EXPIRED"},
	{ErrDenied, codes.PermissionDenied, "DENIED"},
	{ErrNotFound, codes.NotFound, "NOT_FOUND"},
	{ErrExists, codes.AlreadyExists, "EXISTS"},
	{ErrDamaged, codes.DataLoss, "DAMAGED"},
	{ErrInvalid, codes.InvalidArgument, "INVALID"},
	{ErrHelper, codes.Unavailable, "HELPER"},
	{ErrUnavailable, codes.Unavailable, "UNAVAILABLE"},
}

const domain = "caucus"

// Status converts an error for the wire. One that is not in reasons becomes internal, without text:
// log it first.
func Status(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err).Err()
	}
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			s, failed := status.New(r.code,
				err.Error()).WithDetails(&errdetails.ErrorInfo{Domain: domain, Reason: r.reason})
			if failed != nil {
				return status.Error(r.code, err.Error())
			}
			return s.Err()
		}
	}
	if s, ok := status.FromError(err); ok {
		return s.Err()
	}
	return status.Error(codes.Internal, "internal error: the coordinator's log says more")
}

// Reason is an error's name on the wire, "" if Status hides the error. It may appear in logs and
// metrics.
func Reason(err error) string {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return "CANCELLED"
	}
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return r.reason
		}
	}
	return ""
}

type remoteError struct {
	text string
	is   error
}

func (r *remoteError) Error() string {
	if strings.Contains(r.text, r.is.Error()) {
		return r.text
	}
	return r.is.Error() + ": " + r.text
}
func (r *remoteError) Unwrap() error { return r.is }

// FromStatus converts an error from the wire, so that errors.Is works for the caller too.
func FromStatus(err error) error {
	s, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	for _, d := range s.Details() {
		info, ok := d.(*errdetails.ErrorInfo)
		if !ok || info.Domain != domain {
			continue
		}
		for _, r := range reasons {
			if r.reason == info.Reason {
				return &remoteError{s.Message(), r.err}
			}
		}
	}
	switch s.Code() {
	case codes.Canceled:
		return &remoteError{s.Message(), context.Canceled}
	case codes.ResourceExhausted:
		return &remoteError{s.Message(), ErrTooLarge}
	case codes.Unimplemented:
		return &remoteError{"the coordinator runs another version: " + s.Message(), ErrInvalid}
	case codes.Unavailable:
		return unavailable(s.Message())
	}
	// Internal errors, deadlines and aborted streams may be retried: a repeated call stores nothing
	// twice.
	return &remoteError{s.Message(), ErrUnavailable}
}

// unavailable explains a failed connection. TLS tells a refused certificate by text alone, which a
// test checks.
func unavailable(text string) error {
	if _, tls, found := strings.Cut(text, "handshake failed: tls: "); found {
		text = strings.TrimSuffix(tls, `"`)
	}
	switch {
	case strings.Contains(text, "certificate has expired or is not yet valid"):
		return &remoteError{"the coordinator's certificate is not valid by this machine's clock: set the clock (" + text + ")", ErrClock}
	case strings.Contains(text, "remote error: tls: expired certificate"):
		return &remoteError{"by its clock, the coordinator finds this certificate expired or not yet valid: check both clocks, else enrol again with a new invitation", ErrClock}
	case strings.Contains(text, "remote error: tls: bad certificate"):
		return &remoteError{"the coordinator does not admit this certificate: it is unknown or revoked, or its invitation was withdrawn, used or has expired: ask the operator for a new invitation", ErrDenied}
	case strings.Contains(text, "remote error: tls: unknown certificate"), strings.Contains(text,
		"remote error: tls: certificate required"):
		return &remoteError{"the coordinator does not know this certificate's authority: enrol with an invitation of this coordinator", ErrDenied}
	case proxyTrouble(text) != "":
		return &remoteError{proxyTrouble(text), ErrUnavailable}
	case strings.Contains(text, "name resolver error"), strings.Contains(text, "no such host"):
		return &remoteError{"the name of the coordinator's address is not known here: check the address, the network, and HTTPS_PROXY where there is a proxy (" + text + ")", ErrUnavailable}
	case strings.Contains(text, "connection refused"):
		_, at, _ := strings.Cut(text, "dial tcp ")
		at, _, _ = strings.Cut(at, ": ")
		return &remoteError{"nothing listens at " + at +
			": start the coordinator, or check the address (coordinator: in agent.yaml or the profile; HTTPS_PROXY, if it is the proxy's)", ErrUnavailable}
	case strings.Contains(text, "failed to verify certificate"):
		return &remoteError{"whoever answers there is not the coordinator that invited: check the address, and whose profile or identity this is (" + text + ")", ErrDenied}
	}
	return &remoteError{text, ErrUnavailable}
}

// proxyTrouble says in a sentence what a proxy between this machine and the coordinator wants; ""
// if text is about none. gRPC tells the proxy's whole answer in one line, or that it gave none.
func proxyTrouble(text string) string {
	_, answer, answered := strings.Cut(text, "failed to do connect handshake, response: ")
	switch {
	case strings.Contains(text, "reading server HTTP response"):
		return "the proxy of HTTPS_PROXY does not answer: see that it runs, and name the coordinator under NO_PROXY if it is reached without"
	case strings.Contains(text, "delegating_resolver: unable to build the proxy"):
		return `HTTPS_PROXY is not the address of a proxy: write http://HOST:PORT, with %5C for a \ in a name`
	case !answered:
		return ""
	case strings.Contains(answer, " 407 "):
		return `the proxy wants a name and a password (407): write HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT, with %5C for a \ and %40 for an @ in them; a proxy that wants Windows sign-on (NTLM, Kerberos) needs an exception for this machine`
	case strings.Contains(answer, " 403 "):
		return "the proxy forbids the way to the coordinator (403): ask your IT to let this machine CONNECT to its host and port"
	case strings.Contains(answer, " 502 "), strings.Contains(answer, " 503 "),
		strings.Contains(answer, " 504 "):
		return "the proxy does not reach the coordinator: see that the coordinator runs, and that the proxy knows its name"
	}
	first, _, _ := strings.Cut(answer, `\r`)
	return "the proxy answers " + strings.Trim(first, `"\`) + " and opens no connection: it may be a page to sign in on (captive portal), or no proxy for CONNECT"
}

// IsRetryable reports whether a later attempt may succeed.
func IsRetryable(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrHelper) || errors.Is(err, ErrBusy) ||
		errors.Is(err, ErrClock) || errors.Is(err, context.DeadlineExceeded)
}

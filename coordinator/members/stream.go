package members

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"caucus/protocol"
)

// codec decodes messages like grpc's own codec, except into a Parsed, which keeps a decoding error.
// grpc would report an internal error to the caller, and agents retry internal errors for ever.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// ReceivedMessage receives a message into Message, and keeps a decoding error.
type ReceivedMessage struct {
	Message any
	err     error
	size    int
}

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	p, ok := v.(*ReceivedMessage)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	p.size = data.Len()
	if c.CodecV2.Unmarshal(data, p.Message) != nil {
		p.err = fmt.Errorf("%w: its bytes do not parse", protocol.ErrInvalid)
	}
	return nil
}

// Services registers a server's services, so that a call whose bytes do not parse gets an error
// that says so.
func (cg *CallGate) Services(server *grpc.Server) grpc.ServiceRegistrar {
	return strict{server,
		cg}
}

type strict struct {
	grpc.ServiceRegistrar
	gate *CallGate
}

func (s strict) RegisterService(d *grpc.ServiceDesc, server any) {
	service := *d
	service.Methods = slices.Clone(d.Methods)
	for i, m := range d.Methods {
		service.Methods[i].Handler = func(server any, ctx context.Context, decode func(any) error,
			interceptor grpc.UnaryServerInterceptor) (any, error) {
			var p ReceivedMessage
			reply, err := m.Handler(server, ctx, func(into any) error {
				p.Message = into
				if err := decode(&p); err != nil {
					return err
				}
				return p.err
			}, interceptor)
			if p.err != nil {
				err = s.gate.handle(callOf(ctx), func() error { return p.err })
			}
			return reply, err
		}
	}
	s.ServiceRegistrar.RegisterService(&service, server)
}

// admittedStream ends when its call ends, even if the other side does not react, and counts its
// bytes.
type admittedStream struct {
	grpc.ServerStream
	call       *call
	connection *connection
	gate       *CallGate
}

func (a *admittedStream) Context() context.Context { return a.call.ctx }

func (a *admittedStream) RecvMsg(m any) error {
	p := ReceivedMessage{Message: m}
	if err := a.move(func() error { return a.ServerStream.RecvMsg(&p) }); err != nil {
		return err
	}
	a.gate.moved(a.call, p.size)
	return p.err
}

// SendMsg lets the other side take as long to receive a message as it may take to send one.
func (a *admittedStream) SendMsg(m any) error {
	a.call.message.Reset(a.gate.limits.UploadTimeLimit(protocol.MaxMessage))
	err := a.move(func() error { return a.ServerStream.SendMsg(m) })
	if err == nil {
		a.gate.moved(a.call, proto.Size(m.(proto.Message)))
	}
	return err
}

// move calls the function do, which sends or receives a message and cannot be interrupted. If the
// call ends, move returns at once, and do goes on until the handler has returned.
func (a *admittedStream) move(do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		if err == nil {
			a.call.message.Stop()
			a.connection.touch()
		}
		return err
	case <-a.call.ctx.Done():
		return context.Cause(a.call.ctx)
	}
}

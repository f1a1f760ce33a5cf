package mapping

import (
	"errors"
	"fmt"
	"math"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
)

// Limits of an expression. Their product bounds one record's work and memory: each part is computed
// at most once, from texts of bounded length.
const (
	maxExpression = 2000 // bytes
	maxNodes      = 200  // names, constants, operators, and states of patterns
	maxText       = 256  // bytes of a cell that an expression reads; a longer cell is missing
)

// Costs of an expression's parts, in cells of plain text, each an upper bound
// (agent/TestExpressionsBoundTime). A function walks over a text, a pattern's state over each of
// its bytes, a sum of texts copies them, and a missing value makes an error that reports a place in
// the expression.
const (
	baseCost     = 16
	nodeCost     = 2
	functionCost = 8
	stateCost    = 16
	copyCost     = 0.5
	textCost     = 0.02 // per byte of the expression
)

// functions lists the permitted functions of expr-lang. None reads a clock, makes a list or
// lengthens a text.
var functions = []string{"abs", "ceil", "float", "floor", "int", "len", "lower", "max", "min",
	"round", "string", "trim", "upper"}

// operators lists the permitted operators, without ranges and pipes.
var operators = []string{
	"+", "-", "*", "/", "%", "**", "^", "==", "!=", "<", "<=", ">", ">=", "and", "or", "&&", "||", "not", "!", "??",
	"in", "contains", "startsWith", "endsWith", "matches",
}

// Functions that name a column: column("Kreatinin (µmol/l)") is its value, text("PLZ") its text,
// also for a number.
const (
	columnFunction = "column"
	textFunction   = "text"
)

type expression struct {
	program *vm.Program
	cost    float64
	inputs  []int // columns of the file that it reads
}

// input is a column that expressions read, with its name in their environment.
type input struct {
	name    string
	at      int
	asText  bool
	missing words
	decimal string
}

type parsed struct {
	nodes int
	cost  float64
	names []string // column names
}

func parseExpression(text string) (parsed, error) {
	fail := func(err error) (parsed, error) {
		return parsed{}, fmt.Errorf("expression: %w", err)
	}
	if len(text) > maxExpression {
		return fail(fmt.Errorf("it is longer than %d characters", maxExpression))
	}
	tree, err := parser.Parse(text)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return fail(errors.New(first))
	}
	var c checker
	if err := c.check(tree.Node, 0); err != nil {
		return fail(err)
	}
	if c.nodes > maxNodes {
		return fail(fmt.Errorf("it has %d parts, of at most %d: make it shorter", c.nodes,
			maxNodes))
	}
	c.cost += baseCost + textCost*float64(len(text))
	return c.parsed, nil
}

type checker struct{ parsed }

func (c *checker) check(n ast.Node, depth int) error {
	c.nodes++
	c.cost += nodeCost
	if depth > maxNodes {
		return errors.New("it is nested too deep")
	}
	all := func(nodes ...ast.Node) error {
		for _, n := range nodes {
			if err := c.check(n, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	switch n := n.(type) {
	case *ast.NilNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode:
		return nil
	case *ast.IdentifierNode:
		c.names = append(c.names, n.Value)
		return nil
	case *ast.UnaryNode:
		return all(n.Node)
	case *ast.ConditionalNode:
		return all(n.Cond, n.Exp1, n.Exp2)
	case *ast.BinaryNode:
		if !slices.Contains(operators, n.Operator) {
			return fmt.Errorf("%q cannot be used: use %s", n.Operator, strings.Join(operators, " "))
		}
		if n.Operator == "matches" {
			if err := c.pattern(n.Right); err != nil {
				return err
			}
		}
		if n.Operator == "in" {
			return errors.Join(all(n.Left), c.constants(n.Right))
		}
		before := len(c.names)
		err := all(n.Left, n.Right)
		c.cost += copyCost * float64(len(c.names)-before)
		return err
	case *ast.BuiltinNode:
		if !slices.Contains(functions, n.Name) {
			return fmt.Errorf("%s() cannot be used: use %s, column or text", n.Name,
				strings.Join(functions, ", "))
		}
		c.cost += functionCost
		return all(n.Arguments...)
	case *ast.CallNode:
		name, of, ok := namedColumn(n)
		if !ok {
			return fmt.Errorf("%s() cannot be used: use %s, or column(\"its name\"), text(\"its name\")", name, strings.Join(functions, ", "))
		}
		c.names = append(c.names, of)
		return nil
	}
	return errors.New("it has more than names, numbers, texts, signs and conditions: lists, variables and steps cannot be used")
}

func (c *checker) constants(n ast.Node) error {
	list, ok := n.(*ast.ArrayNode)
	if !ok {
		return errors.New("write in with a list of constants, such as unit in [\"mg\", \"g\"]")
	}
	for _, n := range list.Nodes {
		c.nodes++
		c.cost += nodeCost
		switch n := n.(type) {
		case *ast.IntegerNode, *ast.FloatNode, *ast.StringNode, *ast.BoolNode:
		case *ast.UnaryNode: // a number such as -9
			if _, ok := n.Node.(*ast.IntegerNode); !ok || n.Operator != "-" {
				return errors.New("a list behind in holds constants alone")
			}
		default:
			return errors.New("a list behind in holds constants alone")
		}
	}
	return nil
}

// pattern bounds a regular expression by its states, each of which may take a step per character.
func (c *checker) pattern(n ast.Node) error {
	text, ok := n.(*ast.StringNode)
	if !ok {
		return errors.New("a pattern behind matches is a text in quotes")
	}
	p, err := syntax.Parse(text.Value, syntax.Perl)
	if err != nil {
		return fmt.Errorf("matches: %w", err)
	}
	program, err := syntax.Compile(p.Simplify())
	if err != nil {
		return fmt.Errorf("matches: %w", err)
	}
	c.nodes += len(program.Inst)
	c.cost += stateCost * float64(len(program.Inst))
	return nil
}

func namedColumn(n *ast.CallNode) (function, column string, ok bool) {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return "a method", "", false
	}
	if callee.Value != columnFunction && callee.Value != textFunction || len(n.Arguments) != 1 {
		return callee.Value, "", false
	}
	name, ok := n.Arguments[0].(*ast.StringNode)
	if !ok {
		return callee.Value, "", false
	}
	return callee.Value, name.Value, true
}

// namer replaces names of columns by names of inputs.
type namer struct {
	find func(column string, asText bool) (string, error)
	err  error
}

func (v *namer) Visit(n *ast.Node) {
	column, asText := "", false
	switch node := (*n).(type) {
	case *ast.IdentifierNode:
		if node.Value == columnFunction || node.Value == textFunction ||
			strings.HasPrefix(node.Value, inputMark) {
			return // part of a call, which is replaced as a whole, or replaced already
		}
		column = node.Value
	case *ast.CallNode:
		function, name, ok := namedColumn(node)
		if !ok {
			return
		}
		column, asText = name, function == textFunction
	default:
		return
	}
	name, err := v.find(column, asText)
	if err != nil {
		v.err = errors.Join(v.err, err)
		return
	}
	ast.Patch(n, &ast.IdentifierNode{Value: name})
}

// inputMark begins the names of inputs. It cannot occur in an expression.
const inputMark = "\x00"

// of returns the expression's value as a cell; false after an error, even a panic that expr-lang
// recovered.
func (e *expression) of(env map[string]any) (string, bool) {
	value, err := expr.Run(e.program, env)
	if err != nil {
		return "", false
	}
	switch v := value.(type) {
	case string:
		return v, len(v) <= maxText
	case bool:
		if v {
			return "true", true
		}
		return "false", true
	case int:
		return numberText(float64(v)), true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "", false
		}
		return numberText(v), true
	}
	return "", value == nil
}

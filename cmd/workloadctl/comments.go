package main

import (
	"bytes"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/workload-operator/conversion"
)

// graft carries comments and style of a YAML document over to the converted one. Wherever a value is the same under the same
// path, the source's own nodes stay. A field that changed its name takes its comments along, by the table of conversion.
type graft struct {
	targets targets
	object  *yaml.Node          // the object around the current place, if it is one of ours
	moves   map[string][]string // where the fields of the converted object come from, by path
	flow    bool                // inside of a collection on one line, where new comments have no place
}

// carryOver returns nodes, the converted document, with what source has to give. lost counts comment lines without a place.
func carryOver(source, nodes *yaml.Node, t targets) (result *yaml.Node, lost int) {
	g := graft{targets: t}
	content, _ := g.value(source.Content[0], nodes, nil)
	result = &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{content}, HeadComment: source.HeadComment, FootComment: source.FootComment}
	return result, max(0, commentLines(source)-commentLines(result))
}

func commentLines(n *yaml.Node) (lines int) {
	for _, comment := range []string{n.HeadComment, n.LineComment, n.FootComment} {
		for line := range strings.Lines(comment) {
			if strings.TrimSpace(line) != "" {
				lines++
			}
		}
	}
	for _, child := range n.Content {
		lines += commentLines(child)
	}
	return lines
}

// value returns the node for a place: that of the source if it means the same.
func (g graft) value(source, converted *yaml.Node, path []string) (n *yaml.Node, same bool) {
	if source.Kind != converted.Kind {
		if converted.Kind == yaml.MappingNode { // what is inside may come from elsewhere
			g.mapping(&yaml.Node{Kind: yaml.MappingNode}, converted, path)
		}
		return converted, false
	}
	switch source.Kind {
	case yaml.MappingNode:
		return g.mapping(source, converted, path)
	case yaml.SequenceNode:
		return g.sequence(source, converted, path)
	case yaml.ScalarNode:
		if sameScalar(source, converted) {
			return withoutAnchor(source), true
		}
		converted.LineComment, converted.HeadComment, converted.FootComment = source.LineComment, source.HeadComment, source.FootComment
	}
	return converted, false
}

func sameScalar(a, b *yaml.Node) bool {
	left, errLeft := literal(a)
	right, errRight := literal(b)
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}

// withoutAnchor returns a node that no alias refers to: aliases are written out.
func withoutAnchor(n *yaml.Node) *yaml.Node {
	if n.Anchor == "" {
		return n
	}
	free := *n
	free.Anchor = ""
	return &free
}

func (g graft) sequence(source, converted *yaml.Node, path []string) (n *yaml.Node, same bool) {
	same = len(source.Content) == len(converted.Content)
	for i := range min(len(source.Content), len(converted.Content)) {
		element, equal := g.value(source.Content[i], converted.Content[i], append(slices.Clip(path), "[]"))
		same = same && equal
		converted.Content[i] = element
	}
	return g.collection(source, converted), same
}

// collection gives a converted mapping or list the comments and the style of the source.
func (g graft) collection(source, converted *yaml.Node) *yaml.Node {
	converted.HeadComment, converted.LineComment, converted.FootComment = source.HeadComment, source.LineComment, source.FootComment
	if len(converted.Content) > 0 {
		converted.Style = source.Style &^ yaml.TaggedStyle
	}
	return converted
}

func (g graft) mapping(source, converted *yaml.Node, path []string) (n *yaml.Node, same bool) {
	pairs, plain := plainPairs(source)
	if moves, ours := g.movesOf(pairs, converted); ours {
		g.object, g.moves, path = source, moves, nil
	}
	g.flow = g.flow || source.Style&yaml.FlowStyle != 0
	same = plain && len(pairs) == len(converted.Content)/2
	for i := 0; i+1 < len(converted.Content); i += 2 {
		name := converted.Content[i].Value
		here := append(slices.Clip(path), name)
		p, ok := pairs[name]
		if !ok {
			same = false
			p = g.moved(here)
		}
		value, equal := g.value(p.value, converted.Content[i+1], here)
		same = same && equal
		converted.Content[i], converted.Content[i+1] = keyFor(converted.Content[i], p, value), value
	}
	if same {
		inOrderOf(converted, source)
	}
	return g.collection(source, converted), same
}

// plainPairs returns the pairs of a mapping by name, and whether these are all: there are no merged and no repeated keys.
func plainPairs(n *yaml.Node) (pairs map[string]pair, plain bool) {
	pairs, plain = map[string]pair{}, true
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		name, err := keyName(key)
		_, again := pairs[name]
		if err != nil || again || isMerge(key) || key.Kind != yaml.ScalarNode {
			plain = false
			continue
		}
		pairs[name] = pair{name: name, key: key, value: n.Content[i+1]}
	}
	return pairs, plain
}

// keyFor returns the key of a converted pair with comments, and style where the name is the same. A comment at the end of a
// line that became several goes above them.
func keyFor(converted *yaml.Node, from pair, value *yaml.Node) *yaml.Node {
	key := *converted
	if converted.Value == from.name {
		key = *withoutAnchor(from.key)
	}
	key.HeadComment, key.LineComment, key.FootComment = from.key.HeadComment, from.key.LineComment, from.key.FootComment
	if comment := from.value.LineComment; comment != "" && from.value.Kind != value.Kind {
		key.HeadComment = strings.TrimPrefix(key.HeadComment+"\n"+comment, "\n")
	}
	return &key
}

// inOrderOf puts the pairs of a mapping into the order of another one with the same keys.
func inOrderOf(n, other *yaml.Node) {
	pairs, _ := plainPairs(n)
	content := make([]*yaml.Node, 0, len(n.Content))
	for i := 0; i+1 < len(other.Content); i += 2 {
		name, err := keyName(other.Content[i])
		p, ok := pairs[name]
		if err != nil || !ok {
			return
		}
		content = append(content, p.key, p.value)
	}
	n.Content = content
}

// movesOf returns where the fields of an object come from, if the object of the source is of one of our kinds and was
// converted: paths of the source by path of the converted object.
func (g graft) movesOf(source map[string]pair, converted *yaml.Node) (map[string][]string, bool) {
	became, _ := plainPairs(converted)
	from, to, kind := scalarText(source["apiVersion"].value), scalarText(became["apiVersion"].value), scalarText(source["kind"].value)
	if from == to || g.targets.of(from, kind) == "" {
		return nil, false
	}
	old, errOld := schema.ParseGroupVersion(from)
	fresh, errFresh := schema.ParseGroupVersion(to)
	if errOld != nil || errFresh != nil {
		return nil, false
	}
	moves := map[string][]string{}
	groupKind := schema.GroupKind{Group: fresh.Group, Kind: kind}
	for _, field := range conversion.Fields(groupKind, fresh.Version) { // the source is the hub
		moves[pathKey(fieldPath(field.Spoke))] = fieldPath(field.Hub)
	}
	for _, field := range conversion.Fields(groupKind, old.Version) {
		moves[pathKey(fieldPath(field.Hub))] = fieldPath(field.Spoke)
	}
	return moves, true
}

// moved finds the pair of the source that a field of the converted object comes from; a pair of nothing if there is none.
func (g graft) moved(path []string) pair {
	found := pair{key: new(yaml.Node), value: new(yaml.Node)}
	n := g.object
	for _, name := range g.moves[pathKey(path)] {
		if n == nil || n.Kind != yaml.MappingNode {
			return pair{key: new(yaml.Node), value: new(yaml.Node)}
		}
		pairs, _ := plainPairs(n)
		p, ok := pairs[name]
		if !ok {
			return pair{key: new(yaml.Node), value: new(yaml.Node)}
		}
		found, n = p, p.value
	}
	if g.flow {
		found.key, found.value = withoutComments(found.key), withoutComments(found.value)
	}
	return found
}

func withoutComments(n *yaml.Node) *yaml.Node {
	bare := *n
	bare.HeadComment, bare.LineComment, bare.FootComment = "", "", ""
	return &bare
}

// fieldPath returns the names that lead to a field. A value that is taken apart has no single place, and so no path.
func fieldPath(path string) []string {
	if strings.Contains(path, " ") || path == "" {
		return nil
	}
	if outer, key, found := strings.Cut(path, "["); found {
		return append(strings.Split(outer, "."), strings.TrimSuffix(key, "]"))
	}
	return strings.Split(path, ".")
}

func pathKey(path []string) string { return strings.Join(path, "\x00") }

func scalarText(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

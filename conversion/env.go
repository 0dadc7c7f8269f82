package conversion

import (
	"bytes"
	"strconv"
)

// envMap is the list of environment variables in the hub and a map of the plain ones in the spoke.
//
// What the map cannot say is kept as a list in hub order: variables with a source, or unreadable, whole; a plain variable
// as its place, {"name": .., "value": ""}, together with members the spoke does not know. A plain variable without a
// value has no value in its place either. Of variables with the same name the last one counts, as in a container;
// the ones before it are kept whole. A list that the map alone would give is not kept at all.
var envMap = &reshape{name: "map and list", down: envDown, up: envUp}

// variable is one entry of the hub's list.
type variable struct {
	entry       []byte
	name, value []byte // as JSON; nil if absent, the name also if it is no string
	key         []byte // what the name is told from others by

	// plain is true if the spoke's map can show the variable.
	plain bool

	// bare is true if a plain variable has no members but name and value.
	bare bool

	// last is true if no later variable has the same name.
	last bool
}

// readVariables reads the hub's list, or the kept one.
func (r *run) readVariables(list []byte) []variable {
	clear(r.variables)
	r.variables = r.variables[:0]
	c := cursor{text: list}
	for c.enter(); c.more(']'); {
		r.variables = append(r.variables, variable{})
		r.variables[len(r.variables)-1].read(&c)
	}
	markLast(r.variables)
	return r.variables
}

// fewVariables is how many names are compared with each other before a map is worth its memory.
const fewVariables = 24

// markLast finds the last variable of each name.
func markLast(variables []variable) {
	if len(variables) > fewVariables {
		markLastOfMany(variables)
		return
	}
	for i := range variables {
		v := &variables[i]
		v.last = v.key != nil
		for j := i + 1; v.last && j < len(variables); j++ {
			v.last = variables[j].key == nil || !bytes.Equal(v.key, variables[j].key)
		}
	}
}

func markLastOfMany(variables []variable) {
	later := make(map[string]bool, len(variables))
	for i := len(variables) - 1; i >= 0; i-- {
		if v := &variables[i]; v.key != nil {
			v.last = !later[string(v.key)]
			later[string(v.key)] = true
		}
	}
}

// read takes the entry at the cursor apart.
func (v *variable) read(c *cursor) {
	if c.peek() != '{' {
		v.entry = c.value()
		return
	}
	start, sourced := c.at, false
	v.bare = true
	for c.enter(); c.more('}'); {
		switch key, value := c.key(), c.value(); string(key) {
		case "name":
			v.name = value
		case "value":
			v.value = value
		case "valueFrom":
			sourced = true
		default:
			v.bare = false
		}
	}
	v.entry = c.text[start:c.at]
	if isString(v.name) {
		v.key = nameKey(v.name)
	} else {
		v.name = nil
	}
	v.plain = !sourced && !v.unreadable()
}

// unreadable reports whether the entry is no variable at all.
func (v *variable) unreadable() bool { return v.name == nil || v.value != nil && !isString(v.value) }

// null reports whether the entry says nothing: null, or a name with the value null. That is a spelling, not a mistake.
func (v *variable) null() bool { return isNull(v.entry) || v.name != nil && isNull(v.value) }

// shown reports whether the spoke's map shows the variable.
func (v *variable) shown() bool { return v.plain && v.last }

func envDown(r *run, b *boundRow) {
	list, original := r.src.fields[b.hub[0]], r.originals.fields[b.spoke[0]]
	var variables []variable
	switch {
	case isNull(list):
		r.dst[b.spoke[0]] = list
		return
	case isArray(list):
		variables = r.readVariables(list)
		r.keepEnv(b, variables)
	case list != nil:
		r.quarantine(r.from.fields[b.hub[0]], list, "is not a list")
		return
	}
	shown, empty := r.envMap(variables, original), list != nil && len(variables) == 0
	switch {
	case shown != nil:
		r.dst[b.spoke[0]] = shown
		if empty { // entries that no list can have come from a map without a list
			r.parked.fields[b.hub[0]] = list
		}
	case empty:
		r.dst[b.spoke[0]] = []byte("{}")
	case list == nil && (isNull(original) || isObject(original)): // the variables were removed
	case isObject(original) && !isEmptyObject(original):
	default:
		r.dst[b.spoke[0]] = original
	}
}

// envMap writes the spoke's map of the plain variables, and the original entries that no variable took the place of. It is nil if
// there are none.
func (r *run) envMap(variables []variable, original []byte) []byte {
	start := len(r.scratch)
	out := append(r.scratch, '{')
	for i := range variables {
		v := &variables[i]
		if v.shown() {
			out = appendMember(out, v.name, valueOr(v.value, `""`))
		}
	}
	if isObject(original) {
		out = appendUnreadable(out, original, variables)
	}
	if len(out) == start+1 {
		return nil
	}
	r.scratch = closeObject(out)
	return r.scratch[start:len(r.scratch):len(r.scratch)]
}

// appendUnreadable appends the entries of an original map that are no texts, unless a variable of that name shows.
func appendUnreadable(dst, original []byte, variables []variable) []byte {
	shown := make(map[string]bool, len(variables))
	for i := range variables {
		v := &variables[i]
		if v.shown() {
			shown[string(v.key)] = true
		}
	}
	c := cursor{text: original}
	for c.enter(); c.more('}'); {
		name, value := c.name(), c.value()
		if !isString(value) && !shown[string(nameKey(name))] {
			dst = appendMember(dst, name, value)
		}
	}
	return dst
}

// keepEnv keeps the hub's list if the map alone would not give it.
func (r *run) keepEnv(b *boundRow, variables []variable) {
	asIs := true
	for i := range variables {
		v := &variables[i]
		if v.unreadable() && !v.null() {
			r.report(r.from.fields[b.hub[0]].path+"["+strconv.Itoa(i)+"]", "is not a variable with a name and a text")
		}
		asIs = asIs && v.shown() && v.bare && v.value != nil &&
			(i == 0 || bytes.Compare(variables[i-1].key, v.key) < 0)
	}
	if !asIs {
		start := len(r.scratch)
		r.scratch = appendKeptList(r.scratch, variables)
		r.kept.fields[b.hub[0]] = r.scratch[start:len(r.scratch):len(r.scratch)]
	}
}

func appendKeptList(out []byte, variables []variable) []byte {
	out = append(out, '[')
	for i := range variables {
		v := &variables[i]
		if v.shown() {
			out = v.appendPlace(out)
		} else {
			out = append(out, v.entry...)
		}
		out = append(out, ',')
	}
	out[len(out)-1] = ']'
	return out
}

// Pieces of JSON that are written often.
var (
	emptyText  = []byte(`""`)
	quotedName = []byte(`"name"`)
	quotedVal  = []byte(`"value"`)
)

// appendPlace appends what is kept of a variable the spoke shows.
func (v *variable) appendPlace(dst []byte) []byte {
	if v.value == nil {
		return v.appendWithValue(dst, nil)
	}
	return v.appendWithValue(dst, emptyText)
}

// appendWithValue appends the variable with another value, or none. Other members stay.
func (v *variable) appendWithValue(dst, value []byte) []byte {
	dst = append(dst, '{')
	dst = appendMember(dst, quotedName, v.name)
	if value != nil {
		dst = appendMember(dst, quotedVal, value)
	}
	if !v.bare {
		c := cursor{text: v.entry}
		for c.enter(); c.more('}'); {
			name, other := c.name(), c.value()
			if key := string(plain(name)); key != "name" && key != "value" {
				dst = appendMember(dst, name, other)
			}
		}
	}
	return closeObject(dst)
}

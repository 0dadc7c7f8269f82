package conversion

import (
	"bytes"
	"slices"
)

func envUp(r *run, b *boundRow) {
	field := b.spoke[0]
	view, original := r.src.fields[field], r.originals.fields[b.hub[0]]
	var kept []variable
	if list := r.kept.fields[b.hub[0]]; isArray(list) {
		kept = r.readVariables(list)
	} else if list != nil {
		r.malformed()
	}
	texts := r.readEnvMap(view)
	if list := r.envList(kept, texts); list == nil {
		r.dst[b.hub[0]] = noVariables(view, original, texts)
	} else {
		r.dst[b.hub[0]] = list
		if view != nil && len(texts) == 0 { // null and {} do not show in a list with entries
			r.parked.fields[field] = view
		}
	}
	if view != nil && !isObject(view) && !isNull(view) {
		r.quarantine(r.from.fields[field], view, "is not a map")
	}
	r.parkUnreadable(field, texts)
}

// noVariables returns how the hub says that there are none.
func noVariables(view, original []byte, texts []envEntry) []byte {
	switch {
	case isNull(view):
		return view
	case len(texts) > 0: // nothing but unreadable entries: there is no list, unless there was an empty one
		if isArray(original) && isEmptyArray(original) {
			return original
		}
	case isObject(view):
		return []byte("[]")
	case view == nil && original != nil && !isArray(original) && !isNull(original):
		return original
	}
	return nil
}

// envEntry is one entry of the spoke's map.
type envEntry struct {
	member
	key  []byte // what the name is told from others by
	used bool   // it is in the hub's list
}

// readEnvMap reads the spoke's map, sorted by name. Of entries with the same name the last one counts.
func (r *run) readEnvMap(view []byte) []envEntry {
	clear(r.entries)
	r.entries = r.entries[:0]
	if !isObject(view) {
		return nil
	}
	c := cursor{text: view}
	for c.enter(); c.more('}'); {
		name := c.name()
		r.entries = append(r.entries, envEntry{member: member{name: name, value: c.value()}, key: nameKey(name)})
	}
	byName := func(a, b envEntry) int { return bytes.Compare(a.key, b.key) }
	if !slices.IsSortedFunc(r.entries, byName) {
		slices.SortStableFunc(r.entries, byName)
	}
	kept := r.entries[:0]
	for i, entry := range r.entries {
		if i+1 == len(r.entries) || !bytes.Equal(entry.key, r.entries[i+1].key) {
			kept = append(kept, entry)
		}
	}
	return kept
}

// textOf returns the entry with a text of that name, nil if there is none.
func textOf(entries []envEntry, key []byte) *envEntry {
	i, found := slices.BinarySearchFunc(entries, key, func(e envEntry, key []byte) int { return bytes.Compare(e.key, key) })
	if !found || !isString(entries[i].value) {
		return nil
	}
	return &entries[i]
}

// parkUnreadable parks the entries that are no texts.
func (r *run) parkUnreadable(field int, entries []envEntry) {
	var out []byte
	for _, e := range entries {
		if isString(e.value) {
			continue
		}
		if out == nil {
			out = []byte{'{'}
		}
		out = appendMember(out, e.name, e.value)
		if !isNull(e.value) {
			r.report(r.from.fields[field].path+"["+string(plain(e.name))+"]", "is not a string")
		}
	}
	if out != nil {
		r.parked.fields[field] = closeObject(out)
	}
}

// envList merges kept variables and texts by name: texts at their kept place, new ones last and sorted. It is nil if
// nothing results.
func (r *run) envList(kept []variable, entries []envEntry) []byte {
	start := len(r.scratch)
	out := append(r.scratch, '[')
	var removed map[string]bool // plain variables that the map does not show any more
	for i := range kept {
		v := &kept[i]
		if v.shown() && textOf(entries, v.key) == nil {
			if removed == nil {
				removed = map[string]bool{}
			}
			removed[string(v.key)] = true
		}
	}
	for i := range kept {
		v := &kept[i]
		if v.key != nil && removed[string(v.key)] {
			continue
		}
		out = append(v.merged(out, entries), ',')
	}
	for _, entry := range entries {
		if isString(entry.value) && !entry.used {
			out = append(appendVariable(out, entry.member), ',')
		}
	}
	if len(out) == start+1 {
		return nil
	}
	out[len(out)-1] = ']'
	r.scratch = out
	return out[start:len(out):len(out)]
}

// merged appends a kept variable with what the map says of it. A text of its name takes over a hidden variable.
func (v *variable) merged(dst []byte, entries []envEntry) []byte {
	var entry *envEntry
	if v.last {
		entry = textOf(entries, v.key)
	}
	if entry == nil {
		return append(dst, v.entry...)
	}
	entry.used = true
	if v.plain {
		return v.restored(dst, entry.value)
	}
	return appendVariable(dst, entry.member)
}

// restored appends a plain variable with the value the spoke shows. One that had no value stays without while that is empty.
func (v *variable) restored(dst, value []byte) []byte {
	if v.value == nil && len(plain(value)) == 0 {
		value = nil
	}
	return v.appendWithValue(dst, value)
}

func appendVariable(dst []byte, text member) []byte {
	dst = append(dst, '{')
	dst = appendMember(dst, quotedName, text.name)
	dst = appendMember(dst, quotedVal, text.value)
	return closeObject(dst)
}

package dag

import "github.com/fairlead-project/fairlead/sched"

// minTree holds times and finds the first that is at most a bound, in O(log n).
type minTree struct {
	leaves int          // a power of two
	t      []sched.Time // t[1] is the least; t[leaves+i] is entry i
}

// treeSize is the length of the t of a tree of n entries.
func treeSize(n int) int {
	leaves := 1
	for leaves < n {
		leaves *= 2
	}
	return 2 * leaves
}

// fill sets the inner entries after all leaves were set.
func (m *minTree) fill() {
	for i := m.leaves - 1; i >= 1; i-- {
		m.t[i] = min(m.t[2*i], m.t[2*i+1])
	}
}

func (m *minTree) set(i int, v sched.Time) {
	i += m.leaves
	m.t[i] = v
	for i > 1 {
		i /= 2
		m.t[i] = min(m.t[2*i], m.t[2*i+1])
	}
}

// first returns the first entry that is at most x; there must be one.
func (m *minTree) first(x sched.Time) int {
	i := 1
	for i < m.leaves {
		if i *= 2; m.t[i] > x {
			i++
		}
	}
	return i - m.leaves
}

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// computerMemory returns how much memory this process and those that it starts may
// use, in bytes: that of the computer, or less if a cgroup says so. 0: unknown.
func computerMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	var kilobytes int64
	if _, err := fmt.Sscanf(string(text), "MemTotal: %d kB", &kilobytes); err != nil {
		return 0
	}
	groups, _ := os.ReadFile("/proc/self/cgroup") // none: no limit
	return lowestLimit(kilobytes<<10, "/sys/fs/cgroup", string(groups))
}

// lowestLimit returns the least of total and the memory limits of the cgroups that
// /proc/self/cgroup names, and of those above them.
func lowestLimit(total int64, root, groups string) int64 {
	for line := range strings.Lines(groups) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) < 3 {
			continue
		}
		base, file := root, "memory.max" // version 2
		switch part[1] {
		case "":
		case "memory":
			base, file = filepath.Join(root, "memory"), "memory.limit_in_bytes"
		default:
			continue
		}
		for dir := filepath.Clean("/" + part[2]); ; dir = filepath.Dir(dir) {
			text, _ := os.ReadFile(filepath.Join(base, dir, file))
			if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit > 0 {
				total = min(total, limit)
			}
			if dir == "/" {
				break
			}
		}
	}
	return total
}

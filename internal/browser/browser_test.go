package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// What a page must not do is seen when it does it.
func TestSeesMisdeeds(t *testing.T) {
	b := Open(t)
	b.Load(file(t, `<!doctype html><title>quiet</title><p>quiet`), 400, 300, false)
	if len(b.Messages()) != 0 || len(b.Requests()) != 1 {
		t.Errorf("messages %q, requests %q", b.Messages(), b.Requests())
	}
	b.Load(file(t, `<!doctype html><img src="missing.png"><script>console.warn("oh"); undefined.x</script>`), 400, 300, false)
	text := strings.Join(b.Messages(), "\n")
	for _, want := range []string{"oh", "TypeError", "ERR_FILE_NOT_FOUND"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s among %q", want, text)
		}
	}
	if r := b.Requests(); len(r) != 2 || !strings.HasSuffix(r[1], "missing.png") {
		t.Errorf("requests %q", r)
	}
	b.Load(file(t, `<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'none'"><script>1</script>`), 400, 300, false)
	if text := strings.Join(b.Messages(), "\n"); !strings.Contains(text, "Content Security Policy") {
		t.Errorf("a forbidden script is not reported: %q", text)
	}
}

func TestWindow(t *testing.T) {
	b := Open(t)
	page := file(t, `<!doctype html><body style="margin:0"><button style="width:100px;height:50px" onclick="this.textContent='clicked'">b</button>`)
	for _, dark := range []bool{false, true} {
		b.Load(page, 413, 300, dark)
		var got struct {
			Width int
			Dark  bool
		}
		b.Eval(`({width: innerWidth, dark: matchMedia("(prefers-color-scheme: dark)").matches})`, &got)
		if got.Width != 413 || got.Dark != dark {
			t.Errorf("%+v", got)
		}
	}
	var text string
	b.Press("Tab", 9)
	if b.Eval(`document.activeElement.tagName`, &text); text != "BUTTON" {
		t.Errorf("the focus is on %q", text)
	}
	b.Click(50, 25)
	if b.Eval(`document.querySelector("button").textContent`, &text); text != "clicked" {
		t.Errorf("the button says %q", text)
	}
}

// The layout of the one page that src/http renders itself: the fallback error page.

import { escapeHtml } from '../../kit/http/html.ts'
import { PAGE_COLOURS } from '../../kit/http/page-colours.ts'

const STYLE = `${PAGE_COLOURS}
* { box-sizing: border-box }
html { -webkit-text-size-adjust: 100%; scroll-padding-top: 1rem }
body { margin: 0; background: var(--page); color: var(--ink); overflow-wrap: anywhere;
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif }
header, main { width: calc(100% - 2rem); max-width: 46rem; margin: 0 auto }
header { padding: 1.25rem 0 .75rem; font-size: 1.125rem; font-weight: 600 }
header a { display: inline-flex; gap: .75rem; align-items: center; color: inherit; text-decoration: none }
header a::before { content: "C" / ""; display: grid; place-items: center; width: 2.75rem; height: 2.75rem;
  border-radius: .625rem; background: var(--accent); color: var(--on-accent); font-size: 1.25rem }
main { margin-bottom: 2rem; padding: 1.5rem 1.25rem; background: var(--card); border: 1px solid var(--line);
  border-radius: 1rem }
h1 { margin: 0 0 .5rem; font-size: 1.5rem; line-height: 1.3 }
p { margin: .35rem 0 }
a { color: var(--accent); text-underline-offset: .15em }
code { padding: .1em .3em; border-radius: .3em; background: var(--soft);
  font-family: ui-monospace, monospace; font-size: .9375em }
small { color: var(--dim); font-size: .9375rem }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px }
@media (min-width: 40rem) { main { padding: 2rem } }
`

/** `body` is escaped HTML and includes the heading. */
export function htmlPage(title: string, body: string, styleNonce: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${escapeHtml(title)}</title>
<style nonce="${escapeHtml(styleNonce)}">${STYLE}</style>
</head>
<body>
<header><a href="/">Cowry</a></header>
<main>
${body}
</main>
</body>
</html>
`
}

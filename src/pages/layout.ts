// The frame of every page of ours: light and dark, from 320 px up, nothing from anywhere else.

import { type Html, html, trusted } from '../kit/html.ts'

const STYLE = `
:root { color-scheme: light dark; --ink: #16211f; --dim: #4c5a57; --page: #f3f6f5; --card: #fff; --line: #c9d3d0;
  --accent: #0b6b57; --on-accent: #fff; --warn: #8a3b12; --test: #ffd25e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8efed; --dim: #a9b8b4; --page: #101715; --card: #18211f; --line: #37443f; --accent: #5fd0b4;
    --on-accent: #06231c; --warn: #ffb48a; --test: #ffd25e; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
.test { background: var(--test); color: #241a00; text-align: center; padding: .4rem 1rem; font-weight: 600; }
main { max-width: 30rem; margin: 0 auto; padding: 1.25rem 1rem 3rem; }
.sheet { background: var(--card); border: 1px solid var(--line); border-radius: .8rem; padding: 1.25rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .75rem; overflow-wrap: anywhere; }
p, dd { overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: auto 1fr; gap: .25rem 1rem; margin: 0 0 1rem; }
dt { color: var(--dim); } dd { margin: 0; text-align: end; }
fieldset { border: 0; padding: 0; margin: 0 0 1rem; } legend { font-weight: 600; margin-bottom: .4rem; padding: 0; }
label { display: flex; gap: .7rem; align-items: center; min-height: 3rem; padding: .4rem .8rem;
  border: 1px solid var(--line); border-radius: .6rem; margin-bottom: .5rem; cursor: pointer; }
label:has(:checked) { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
input { accent-color: var(--accent); width: 1.2rem; height: 1.2rem; flex: none; }
button, .button { display: block; width: 100%; min-height: 3rem; border: 1px solid var(--accent); border-radius: .6rem;
  background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 600; padding: .7rem 1rem;
  text-align: center; text-decoration: none; cursor: pointer; margin-top: .5rem; }
button.plain, .button.plain { background: transparent; color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.problem { color: var(--warn); font-weight: 600; }
.dim { color: var(--dim); font-size: .9rem; }
code { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
pre { overflow-x: auto; padding: 1rem; border: 1px solid var(--line); border-radius: .6rem; }
a { color: var(--accent); }
`

export interface PageFrame {
  title: string
  styleNonce: string
  isTest: boolean
  /** Extra lines of the head, such as a refresh for those without JavaScript. */
  head?: Html
  body: Html
}

export function renderPage(frame: PageFrame): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<title>${frame.title}</title>
<style nonce="${frame.styleNonce}">${trusted(STYLE)}</style>
${frame.head}
</head>
<body>
${frame.isTest && html`<div class="test">Test mode: no real money moves</div>`}
<main>${frame.body}</main>
</body>
</html>
`.toString()
}

// The few pages of the shell itself. Text goes through escapeHtml; nothing else may.

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
}

const STYLE = `
  :root { color-scheme: light dark }
  body { font: 16px/1.55 system-ui, sans-serif; max-width: 46rem; margin: 3rem auto; padding: 0 1.25rem }
  h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem }
  code { font-family: ui-monospace, monospace } small { opacity: .7 }
  section { border-top: 1px solid color-mix(in srgb, currentColor 20%, transparent); padding: .75rem 0 }
  section:target { outline: 2px solid; outline-offset: .5rem } h3 { margin: 0; font-size: 1rem }
  p { margin: .35rem 0 }`

/** `body` is HTML already. */
export function htmlPage(title: string, body: string, styleNonce: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style nonce="${escapeHtml(styleNonce)}">${STYLE}</style>
</head>
<body>
${body}
</body>
</html>
`
}

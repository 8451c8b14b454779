import { type Html, html } from '../../kit/http/html.ts'

/** Code with a button that copies it; without JavaScript there is no button. */
export function copyableCode(code: string): Html {
  return html`<div class="code"><pre><code>${code}</code></pre>
<button type="button" class="copy" hidden data-copy="${code}" data-copied="Copied">Copy</button></div>`
}

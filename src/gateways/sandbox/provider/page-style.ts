// The style of the provider's pages: sand and midnight, so that a payer sees that this is not the shop's checkout. It
// loads nothing: no image, no font, no script.

import { createHash } from 'node:crypto'

/** Every text has a contrast of at least 7, so that it is readable in sunlight. */
const COLOURS = `
:root { color-scheme: light dark; --ground: #f8f4ec; --paper: #fff; --ink: #1b1d33; --dim: #4b4e68; --line: #d8d1c3;
  --edge: #858094; --accent: #3a37a6; --on-accent: #fff; --deep: #211f5c; --on-deep: #fff; --deep-dim: #d5d6f7;
  --bad: #8a1c0c; --bad-paper: #fdeeea; --bank: #134a63; --on-bank: #fff; --yes: #134a63; --on-yes: #fff }
@media (prefers-color-scheme: dark) {
  :root { --ground: #100f1a; --paper: #1b1a29; --ink: #efeef7; --dim: #bbbad0; --line: #393750; --edge: #7d7a96;
    --accent: #b9b8ff; --on-accent: #14123f; --deep: #1d1b44; --bad: #ffb3a3; --bad-paper: #35191a; --bank: #123f55;
    --yes: #8fd3ee; --on-yes: #06222e }
}
`

const FRAME = `
* { box-sizing: border-box }
html { scroll-padding-bottom: 6rem; -webkit-text-size-adjust: 100% }
body { margin: 0; min-height: 100vh; display: flex; flex-direction: column; background: var(--ground); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif }
h1, p, dl, dd { margin: 0; overflow-wrap: anywhere }
h1 { text-wrap: balance }
.bar { padding: .5rem 1rem; background: #ffc53d; color: #231a00; text-align: center; font-weight: 600 }
.brand { display: flex; gap: .625rem; align-items: center; padding: 1rem 1.25rem; background: var(--deep);
  color: var(--on-deep); font-size: 1.0625rem; font-weight: 700; letter-spacing: -.01em }
.brand::before { content: ""; width: 1.75rem; height: 1.75rem; border-radius: .5rem;
  background: radial-gradient(circle at 25% 125%, #c98a1b 58%, #0000 60%),
    radial-gradient(circle at 72% 32%, #fff6df 19%, #0000 22%), #f6c766 }
main { flex: 1 }
footer { padding: 1rem 1.25rem 1.5rem; color: var(--dim); font-size: .875rem }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
`

const PAYING = `
.summary { padding: .75rem 1.25rem 1.75rem; background: var(--deep); color: var(--on-deep) }
.summary h1 { font-size: 1.125rem; font-weight: 500; line-height: 1.35; color: var(--deep-dim) }
.amount { font-size: clamp(2rem, 10.5vw, 2.75rem); font-weight: 700; line-height: 1.2; letter-spacing: -.02em; font-variant-numeric: tabular-nums }
.long { font-size: clamp(1.25rem, 6.5vw, 1.75rem) }
.for { margin-top: .25rem; color: var(--deep-dim) }
.choose { padding: 1.5rem 1.25rem }
fieldset { margin: 0; padding: 0; border: 0; min-width: 0 }
legend { padding: 0; font-size: 1.1875rem; font-weight: 700 }
.hint { margin: .125rem 0 .875rem; color: var(--dim); font-size: .9375rem }
.card { display: flex; gap: .875rem; align-items: center; min-height: 3.75rem; margin-bottom: .5rem; padding: .5rem 1rem;
  background: var(--paper); border: 1px solid var(--line); border-radius: .75rem; cursor: pointer }
.card:hover { border-color: var(--edge) }
.card:has(:checked) { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent) }
.card:has(:focus-visible) { outline: 3px solid var(--accent); outline-offset: 2px }
.card strong { display: block; font-weight: 600; font-variant-numeric: tabular-nums }
.does { display: block; color: var(--dim); font-size: .9375rem; line-height: 1.35 }
.does::first-letter { text-transform: uppercase }
input { flex: none; width: 1.25rem; height: 1.25rem; margin: 0; accent-color: var(--accent) }
.glyph { flex: none; position: relative; width: 2.5rem; height: 1.625rem; border-radius: .25rem;
  background: linear-gradient(#0000 20%, #0006 20% 40%, #0000 40%), linear-gradient(135deg, #6663e0, #29267a) }
.glyph::after { content: ""; position: absolute; bottom: .25rem; left: .25rem; width: .5rem; height: .3125rem;
  border-radius: 1px; background: #f6c766 }
.refused .glyph { background: linear-gradient(#0000 20%, #0006 20% 40%, #0000 40%), linear-gradient(135deg, #918e9d, #524f61) }
.pay { padding: .75rem 0; background: var(--ground); box-shadow: 0 -.625rem .625rem -.25rem var(--ground) }
/* The amount and the button stay in sight while the cards scroll, unless a zoomed page has no room for that. */
@media (min-height: 32rem) { .pay { position: sticky; bottom: 0 } }
button, .button { display: block; width: 100%; min-height: 3.25rem; padding: .75rem 1rem; border: 1px solid var(--accent);
  border-radius: .75rem; background: var(--accent); color: var(--on-accent); font: inherit; font-size: 1.0625rem;
  font-weight: 650; line-height: 1.5; text-align: center; text-decoration: none; overflow-wrap: anywhere; cursor: pointer }
button:hover, .button:hover { box-shadow: 0 0 0 2px var(--ground), 0 0 0 3px var(--accent) }
.quiet { border-color: var(--edge); background: none; color: inherit; font-size: 1rem; font-weight: 600 }
.problem { margin-bottom: 1rem; padding: .75rem 1rem; border: 1px solid; border-left-width: .375rem; border-radius: .5rem;
  background: var(--bad-paper); color: var(--bad); font-weight: 600 }
`

/** One sheet in the middle: the bank's approval step, and the final pages. */
const SHEETS = `
.sheet { width: calc(100% - 2rem); max-width: 30rem; margin: 1.5rem auto; padding: 1.5rem 1.25rem; background: var(--paper);
  border: 1px solid var(--line); border-radius: 1rem; overflow: hidden }
.sheet h1 { margin-bottom: .5rem; font-size: 1.5rem; line-height: 1.25; letter-spacing: -.01em }
.sheet p + p { margin-top: .5rem }
.sheet .button, .sheet button { margin-top: 1.25rem }
.sheet button + button { margin-top: .75rem }
.issuer { --accent: var(--yes); --on-accent: var(--on-yes) }
.bank { display: flex; gap: .75rem; align-items: center; margin: -1.5rem -1.25rem 1.5rem; padding: 1rem 1.25rem;
  background: var(--bank); color: var(--on-bank); font-weight: 700 }
.bank::before { content: ""; flex: none; width: 1.625rem; height: 1.5rem;
  background: linear-gradient(#fff, #fff) 0 100%/100% 12% no-repeat, linear-gradient(#fff, #fff) 0 38%/100% 10% no-repeat,
    repeating-linear-gradient(90deg, #0000 0 12%, #fff 12% 24%, #0000 24% 38%) 0 70%/100% 46% no-repeat,
    conic-gradient(from 118deg at 50% 0, #fff 124deg, #0000 0) 0 0/100% 36% no-repeat }
.bank span { margin-left: auto; font-size: .875rem; font-weight: 500 }
dl { display: grid; grid-template-columns: auto 1fr; gap: .625rem 1rem; margin: 1.25rem 0; padding: 1rem 0;
  border: solid var(--line); border-width: 1px 0 }
dt { color: var(--dim) }
dd { text-align: right; font-weight: 600; font-variant-numeric: tabular-nums }
.note { color: var(--dim); font-size: .9375rem }
`

/** From laptop width up the amount is beside the cards instead of above them. */
const WIDE = `
@media (min-width: 56rem) {
  .brand, footer { padding-inline: max(2rem, calc(42vw - 27rem)) 3rem }
  .brand { padding-block: 1.25rem }
  .split .brand, .split footer { width: 42% }
  .split .brand { padding-block: 2rem 1rem }
  .split main { display: grid; grid-template-columns: 42% 58% }
  .split .summary { padding: 1.5rem 3rem 8rem max(2rem, calc(42vw - 27rem)) }
  .split h1 { font-size: 1.25rem }
  .split .choose { margin-top: -3rem; padding: 0 2rem 1rem clamp(2rem, 7vw, 8rem) }
  .split form { max-width: 31rem }
  .split .card { min-height: 3.5rem; margin-bottom: .4375rem; padding-block: .25rem }
  .split .pay { padding-block: .5rem .625rem }
  .split footer { margin-top: -7rem; padding-block: 1rem 2rem; background: var(--deep); color: var(--deep-dim) }
  .sheet { margin: 3rem auto; padding-inline: 2rem }
  .bank { margin-inline: -2rem; padding-inline: 2rem }
}
`

export const STYLE = [COLOURS, FRAME, PAYING, SHEETS, WIDE].join('')

/** The hash with which the content security policy allows exactly this style. */
export const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

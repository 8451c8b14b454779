// HTML by tagged template: every value is escaped unless html made it, so that no escape can be missed. Attribute
// values must stand in double quotes.

const TEXT = Symbol('html')

/** Finished HTML. The symbol cannot come out of JSON, so no input can pass for it. */
export interface Html {
  readonly [TEXT]: string
  toString(): string
}

/** Null, undefined and false render nothing, so that `${condition && html`…`}` reads well. */
export type HtmlValue = Html | string | number | bigint | null | undefined | false | readonly HtmlValue[]

export function html(strings: TemplateStringsArray, ...values: HtmlValue[]): Html {
  const pieces = strings.map((text, index) => text + render(values[index]))
  return toHtml(pieces.join(''))
}

/** Constant HTML, CSS or script of our own. Never for input. */
export function trustedHtml(text: string): Html {
  return toHtml(text)
}

function toHtml(text: string): Html {
  return { [TEXT]: text, toString: () => text }
}

function render(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return ''
  if (typeof value === 'object') return isHtml(value) ? value[TEXT] : value.map(render).join('')
  return escapeHtml(String(value))
}

function isHtml(value: Html | readonly HtmlValue[]): value is Html {
  return TEXT in value
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
}

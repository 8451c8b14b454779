// Parts that screens share: badges, tables, facts, filters, pages of a list, notices.

import type { ApiError } from '../../core/errors.ts'
import { FAILURES, type FailureCode } from '../../core/failures.ts'
import { COUNT_CAP, type PageMeta } from '../../core/page.ts'
import { withoutControls } from '../../core/text/direction.ts'
import { type Html, type HtmlValue, html } from '../../kit/http/html.ts'
import { type Labels, labelledIssues, repeatsIssues } from './issues.ts'
import type { Texts } from './texts.ts'

type Tone = 'good' | 'bad' | 'wait' | 'neutral'

const TONES: Readonly<Record<string, Tone>> = {
  successful: 'good',
  succeeded: 'good',
  delivered: 'good',
  active: 'good',
  up: 'good',
  enabled: 'good',
  confirmed: 'good',
  overpaid: 'good',
  completed: 'good',
  available: 'good',
  won: 'good',
  ok: 'good',
  configured: 'good',
  finished: 'good',
  error: 'bad',
  violated: 'bad',
  suspended: 'bad',
  warn: 'wait',
  by_hand: 'wait',
  unfinished: 'wait',
  failed: 'bad',
  declined: 'bad',
  disputed: 'bad',
  reversed: 'bad',
  rejected: 'bad',
  approved: 'good',
  lost: 'bad',
  dead: 'bad',
  failing: 'bad',
  down: 'bad',
  pending: 'wait',
  processing: 'wait',
  started: 'wait',
  awaiting_customer: 'wait',
  awaiting_payment: 'wait',
  awaiting_approval: 'wait',
  requires_review: 'wait',
  needs_review: 'wait',
  marked_paid: 'wait',
  underpaid: 'wait',
  open: 'wait',
  retrying: 'wait',
}

/** A status as a word with a shape, so that it does not depend on colour. */
export function badge(texts: Texts, status: string, prefix = 'status'): Html {
  return html`<span class="badge ${TONES[status] ?? 'neutral'}">${texts.word(prefix, status)}</span>`
}

/** Why a payment or refund failed. What a person has decided is in the words of the API. */
export function failureText(texts: Texts, { code, message }: { code: FailureCode; message: string }): string {
  return message === FAILURES[code].message ? texts.word('failure', code) : message
}

/** A name or text that a payer or merchant wrote. */
export function written(text: string | null | undefined): Html | string {
  return text ? html`<bdi>${withoutControls(text)}</bdi>` : ''
}

export interface Column<Row> {
  label: string
  /** Numbers are aligned at the end. */
  isNumber?: boolean
  /** The first column of a card on a phone has no label. */
  isTitle?: boolean
  /** On a phone it stands beside the title, without its label. At most two columns. */
  isBeside?: boolean
  cell(row: Row): HtmlValue
}

/** A table that becomes a list of cards on a phone. */
export function table<Row>(caption: string, columns: readonly Column<Row>[], rows: readonly Row[]): Html {
  return html`<div class="card wide"><table class="cards"><caption class="visually-hidden">${caption}</caption>
<thead><tr>${columns.map(({ label, isNumber }) => html`<th scope="col"${isNumber && html` class="num"`}>${label}</th>`)}</tr></thead>
<tbody>${rows.map(
    (row) =>
      html`<tr>${columns.map(
        (column) =>
          html`<td${classOf(column)}${!column.isTitle && !column.isBeside && html` data-label="${column.label}"`}>${column.cell(row)}</td>`,
      )}</tr>`,
  )}</tbody></table></div>`
}

function classOf({ isNumber, isBeside }: Pick<Column<never>, 'isNumber' | 'isBeside'>): Html | false {
  if (!isNumber && !isBeside) return false
  return html` class="${[isNumber && 'num', isBeside && 'beside'].filter(Boolean).join(' ')}"`
}

export function facts(pairs: readonly (readonly [string, HtmlValue] | false)[]): Html {
  const shown = pairs.filter((pair) => pair !== false && !isNothing(pair[1]))
  return html`<dl class="facts">${shown.map((pair) => pair && html`<dt>${pair[0]}</dt><dd>${pair[1]}</dd>`)}</dl>`
}

const isNothing = (value: HtmlValue) =>
  value === null || value === undefined || value === '' || value === false

export function empty(title: string, text: HtmlValue): Html {
  return html`<div class="card empty"><h2>${title}</h2><p>${text}</p></div>`
}

/** Copies the text. The script shows it where browsers allow that. */
export function copyButton({ t }: Texts, text: string): Html {
  return html`<button type="button" class="plain small" hidden data-copy="${text}" data-copied="${t('copied')}">${t('copy')}</button>`
}

export function notice(tone: Tone, body: HtmlValue): Html {
  return html`<div class="notice ${tone}" role="${tone === 'bad' ? 'alert' : 'status'}">${body}</div>`
}

/** Why the API refused a form, with what it says about each field. */
export function problemNotice(problem: ApiError | undefined, labels: Labels): Html | null {
  if (!problem) return null
  const issues = labelledIssues(problem, labels)
  return notice(
    'bad',
    html`${!repeatsIssues(problem) && html`<p>${problem.message}</p>`}${issues.length > 0 && html`<ul>${issues.map(({ label, text }) => html`<li><b>${label}:</b> ${text}</li>`)}</ul>`}`,
  )
}

/** Text for machines, from left to right in every language. Keyboards can scroll it. */
export function codeBlock(label: string, text: string): Html {
  return html`<pre dir="ltr" tabindex="0" role="region" aria-label="${label}">${withoutControls(text)}</pre>`
}

/** The address of the same screen with other values in the query; an empty value removes the name. */
export function addressWith(
  path: string,
  query: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string | undefined>>,
): string {
  const text = new URLSearchParams()
  for (const [name, value] of Object.entries({ ...query, ...changes })) if (value) text.set(name, value)
  return text.size === 0 ? path : `${path}?${text}`
}

/** Links to the first and the next page, and how many rows there are. */
export function pager(
  texts: Texts,
  path: string,
  query: Readonly<Record<string, string>>,
  { page, total, totalIsCapped, nextCursor, hasNext, archivedBefore }: PageMeta,
): Html {
  const { t } = texts
  const isLater = query.cursor !== undefined || query.page !== undefined
  // The lists of operators have numbered pages, without cursors.
  const next = nextCursor === null ? { page: String(page + 1) } : { cursor: nextCursor }
  return html`<nav class="pager" aria-label="${t('pages')}"><span>${t(totalIsCapped ? 'totalCapped' : 'total', { total })}</span>
<span class="push"></span>${isLater && html`<a class="button plain small" href="${addressWith(path, query, { cursor: undefined, page: undefined })}" rel="first">${t('firstPage')}</a>`}
${hasNext && html`<a class="button plain small" href="${addressWith(path, query, next)}" rel="next">${t('nextPage')}</a>`}</nav>${archiveNotice(texts, archivedBefore)}`
}

/** That earlier entries are in an archive. */
export function archiveNotice(texts: Texts, archivedBefore: string | null | undefined): Html | null {
  if (!archivedBefore) return null
  return notice('neutral', html`<p>${texts.t('archivedBefore', { time: texts.day(archivedBefore) })}</p>`)
}

/** That a search looked at the newest entries only: beyond the cap every list counts no further. */
export function searchNotice({ t }: Texts, meta: PageMeta | undefined): Html | null {
  if (!meta?.totalIsCapped || meta.total >= COUNT_CAP) return null
  return notice('neutral', html`<p>${t('searchNewest')}</p>`)
}

/** That the list lacks the entries of cells that do not answer. */
export function unavailableNotice({ t }: Texts, meta: PageMeta | undefined): Html | null {
  if (!meta?.unavailableCells) return null
  return notice('wait', html`<p>${t('opsUnavailableCells', { names: meta.unavailableCells.join(', ') })}</p>`)
}

export interface Choice {
  value: string
  label: string
}

export function select(
  name: string,
  label: string,
  chosen: string | undefined,
  choices: readonly Choice[],
  id = `f-${name}`,
): Html {
  return html`<div><label for="${id}">${label}</label><select id="${id}" name="${name}">${choices.map(
    ({ value, label: text }) =>
      html`<option value="${value}"${value === (chosen ?? '') && html` selected`}>${text}</option>`,
  )}</select></div>`
}

export function textFilter(
  name: string,
  label: string,
  { value = '', type = 'text', error }: Pick<FieldOptions, 'value' | 'type' | 'error'>,
): Html {
  return html`<div><label for="f-${name}">${label}</label><input id="f-${name}" name="${name}" type="${type}" value="${value}" maxlength="200"${error && html` aria-invalid="true" aria-describedby="f-${name}-error"`}>${error && html`<p class="error" id="f-${name}-error">${error}</p>`}</div>`
}

interface FieldOptions {
  value?: string
  type?: string
  hint?: string
  error?: string
  isRequired?: boolean
  autocomplete?: string
  inputmode?: string
  /** Values to choose from; others can be entered too. */
  list?: readonly string[]
}

export function field(name: string, label: string, options: FieldOptions = {}): Html {
  const { value = '', type = 'text', hint, error, isRequired, autocomplete, inputmode, list } = options
  const notes = [error !== undefined && `${name}-error`, hint !== undefined && `${name}-hint`]
    .filter(Boolean)
    .join(' ')
  return html`<div class="field"><label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" value="${value}"${isRequired && html` required`}${autocomplete && html` autocomplete="${autocomplete}"`}${inputmode && html` inputmode="${inputmode}"`}${notes && html` aria-describedby="${notes}"`}${error !== undefined && html` aria-invalid="true"`}${list && html` list="${name}-list"`}>${list && html`<datalist id="${name}-list">${list.map((one) => html`<option value="${one}">`)}</datalist>`}
${error !== undefined && html`<p class="error" id="${name}-error">${error}</p>`}${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}</div>`
}

export function tick(name: string, label: HtmlValue, isChecked: boolean): Html {
  return html`<label class="tick"><input type="checkbox" name="${name}"${isChecked && html` checked`}> <span>${label}</span></label>`
}

/** A field for a secret or a longer text: it has several lines, and the browser keeps nothing of it. */
export function area(
  name: string,
  label: string,
  options: Pick<FieldOptions, 'hint' | 'isRequired' | 'error'> = {},
): Html {
  const { hint, isRequired, error } = options
  const notes = [error && `${name}-error`, hint && `${name}-hint`].filter(Boolean).join(' ')
  return html`<div class="field"><label for="${name}">${label}</label>
<textarea class="secret" id="${name}" name="${name}" rows="1" autocomplete="off" spellcheck="false"${isRequired && html` required`}${notes && html` aria-describedby="${notes}"`}${error && html` aria-invalid="true"`}></textarea>
${error && html`<p class="error" id="${name}-error">${error}</p>`}${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}</div>`
}

/** Links between the screens of one group. */
export function tabs(label: string, links: readonly { href: string; text: string }[], current: string): Html {
  return html`<nav aria-label="${label}"><ul class="tabs">${links.map(
    ({ href, text }) =>
      html`<li><a href="${href}"${href === current && html` aria-current="page"`}>${text}</a></li>`,
  )}</ul></nav>`
}

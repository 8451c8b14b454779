// The fields of a webhook endpoint, when it is added and when it is changed.

import { createHash } from 'node:crypto'
import { type ApiError, errorFromIssues } from '../../../core/errors.ts'
import { EVENT_PATTERNS, EVENT_TYPE_NAMES } from '../../../core/event-types.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import { field, tick } from '../../frame/components.ts'
import { fieldErrors } from '../../frame/form-input.ts'
import type { ScreenRequest } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import { eventName } from './event-names.ts'

interface EndpointInput {
  url: string
  description: string | null
  events: readonly string[]
}

const NAMES: readonly string[] = [...EVENT_PATTERNS, ...EVENT_TYPE_NAMES]

export const endpointLabels = ({ t }: Texts) => ({
  url: t('endpointUrl'),
  description: t('endpointDescription'),
  events: t('endpointEvents'),
})

export function endpointFields(
  texts: Texts,
  { url, description, events }: EndpointInput,
  problem?: ApiError,
): Html {
  const { t } = texts
  const labels = endpointLabels(texts)
  const errors = fieldErrors(problem, labels)
  const ticks = (names: readonly string[]) =>
    names.map((name) => tick(`event:${name}`, eventName(texts, name), events.includes(name)))
  const isOpen = EVENT_TYPE_NAMES.some((name) => events.includes(name))
  const address = { value: url, type: 'url', hint: t('endpointUrlHint'), isRequired: true, error: errors.url }
  return html`${field('url', labels.url, address)}
${field('description', labels.description, { value: description ?? '', error: errors.description })}
<fieldset${errors.events && html` aria-describedby="events-error"`}><legend>${labels.events}</legend>${errors.events && html`<p class="error" id="events-error">${errors.events}</p>`}<div class="ticks">${ticks(EVENT_PATTERNS)}</div>
<details${isOpen && html` open`}><summary>${t('endpointTypes')}</summary><div class="ticks">${ticks(EVENT_TYPE_NAMES)}</div></details></fieldset>`
}

export function endpointInput(form: ScreenRequest['form']) {
  return {
    url: form.url ?? '',
    description: form.description ?? '',
    events: NAMES.filter((name) => form[`event:${name}`] !== undefined),
  }
}

/** The API subscribes an endpoint without events to all of them, which a person must choose. */
export function requireEvents({ t }: Texts, { events }: Pick<EndpointInput, 'events'>): void {
  if (events.length === 0)
    throw errorFromIssues([{ field: 'events', code: 'required', message: t('endpointNoEvents') }])
}

const FIELDS = ['url', 'description', 'events'] as const

const textOf = (input: EndpointInput, name: (typeof FIELDS)[number]) =>
  JSON.stringify(name === 'events' ? input.events.toSorted() : (input[name] ?? ''))

const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 8)

/** What the form was made from, by field: it has every field, so an older one would undo the change of another person. */
export const endpointVersion = (input: EndpointInput): string =>
  FIELDS.map((name) => hashOf(textOf(input, name))).join('.')

/** The labels of the fields that have changed since; none if the change was saved with the same form. */
export function changedFields(form: ScreenRequest['form'], endpoint: EndpointInput, texts: Texts): string[] {
  const now = endpointVersion(endpoint).split('.')
  if (endpointVersion(endpointInput(form)) === now.join('.')) return []
  const seen = (form.version ?? '').split('.')
  const labels = endpointLabels(texts)
  return FIELDS.filter((_, index) => seen[index] !== now[index]).map((name) => labels[name])
}

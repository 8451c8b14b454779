// The events of one payment, on its page: each leads to its deliveries, and can be sent again.

import { type Html, html } from '../../../kit/http/html.ts'
import type { ScreenRequest } from '../../frame/screen.ts'
import { eventWords } from './event-names.ts'
import { type Event, resendForm } from './events.ts'
import { EVENTS_PATH } from './tabs.ts'

const SHOWN = '20'

export async function paymentEvents(request: ScreenRequest, uuid: string): Promise<Html | null> {
  const { call, allows, texts } = request
  if (!allows('events.list')) return null
  // A boundary: the operation returns records of this schema.
  const events = (await call('events.list', { query: { resource: uuid, limit: SHOWN } })).data as Event[]
  if (events.length === 0) return null
  return html`<section class="card"><h2>${texts.t('eventsTitle')}</h2><ul class="todo">${events.map(
    ({ id, type, createdAt }) =>
      html`<li><a href="${EVENTS_PATH}/${id}">${eventWords(texts, type)}</a> <span class="sub"><code>${type}</code> · ${texts.time(createdAt)}</span>${resendForm(request, id, 'resend')}</li>`,
  )}</ul></section>`
}

// The notes of the team on a payment.

import { type Html, html } from '../../../kit/http/html.ts'
import type { PaymentNote } from '../../../payment-notes/note.ts'
import { written } from '../../frame/components.ts'
import { loadNames } from '../../frame/names.ts'
import type { ScreenRequest } from '../../frame/screen.ts'
import { PAYMENTS_PATH, type Payment } from '../payments.ts'

export async function notesOf(request: ScreenRequest, { uuid }: Payment): Promise<Html | null> {
  const { call, allows, texts } = request
  // A boundary: the operation returns records of this type.
  const notes = (await call('paymentNotes.list', { params: { uuid } })).data as PaymentNote[]
  const mayWrite = allows('paymentNotes.create')
  if (notes.length === 0 && !mayWrite) return null
  return html`<section class="card" id="notes"><h2>${texts.t('notes')}</h2>${await noteList(request, notes)}${mayWrite && noteForm(request, uuid)}</section>`
}

async function noteList(request: ScreenRequest, notes: readonly PaymentNote[]): Promise<Html | null> {
  if (notes.length === 0) return null
  const nameOf = await loadNames(request)
  return html`<ul class="todo">${notes.map(
    ({ userId, text, createdAt }) =>
      html`<li><p class="lines">${written(text)}</p><span class="sub">${nameOf(userId)} · ${request.texts.time(createdAt)}</span></li>`,
  )}</ul>`
}

function noteForm({ postForm, form, texts: { t } }: ScreenRequest, uuid: string): Html {
  return postForm(
    `${PAYMENTS_PATH}/${uuid}/notes`,
    html`<div class="field"><label for="text">${t('noteNew')}</label>
<textarea id="text" name="text" rows="3" maxlength="2000" required aria-describedby="text-hint">${form.text ?? ''}</textarea>
<p class="hint" id="text-hint">${t('noteTeamOnly')}</p></div><button class="plain">${t('noteSave')}</button>`,
  )
}

/** Returns what was done. */
export async function saveNote(
  { call, form, submission }: ScreenRequest,
  { uuid }: Payment,
): Promise<'note'> {
  // Browsers send the lines of a text with carriage returns.
  const text = (form.text ?? '').replaceAll('\r\n', '\n').trim()
  await call('paymentNotes.create', { params: { uuid }, body: { text }, idempotencyKey: submission })
  return 'note'
}

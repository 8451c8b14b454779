// Notes of people on payments. Only the team sees them.

import { Type } from 'typebox'
import { assertNoCardNumbers } from '../core/card-number.ts'
import { createIdempotently } from '../kit/db/idempotency.ts'
import { created, ok, type PersonRoute, personRoute } from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { requirePayment } from '../payments/find.ts'
import type { PaymentNote } from './note.ts'
import { findNote, insertNote, listNotes, type NoteRow } from './queries.ts'

const PATH = '/app/payments/{uuid}/notes'
const LONGEST_NOTE = 2_000

export function paymentNoteRoutes(app: PaymentsApp): PersonRoute[] {
  return [
    personRoute({
      method: 'GET',
      path: PATH,
      scope: 'checkout:read',
      operationId: 'paymentNotes.list',
      params: UuidParams,
      handle: async ({ merchant, params }) =>
        ok('Notes.', (await listNotes(app.db, merchant.id, params.uuid)).map(toNote)),
    }),
    personRoute({
      method: 'POST',
      path: PATH,
      scope: 'notes:write',
      operationId: 'paymentNotes.create',
      params: UuidParams,
      body: Type.Object({
        text: Type.String({ minLength: 1, maxLength: LONGEST_NOTE, pattern: '\\S', 'x-multiline': true }),
      }),
      handle: async ({ merchant, principal, params, body: { text }, idempotencyKey: key }) => {
        assertNoCardNumbers({ text })
        const payment = await requirePayment(app, merchant, params)
        const input = { ...params, text, userId: principal.id }
        const claim = { merchantId: merchant.id, key, operation: `POST ${PATH}`, input }
        const { record, replayed } = await createIdempotently<NoteRow>(app, claim, {
          make: async (tx, id) => {
            const owner = { merchantId: merchant.id, paymentId: payment.id, userId: principal.id }
            const note = { ...owner, id, text, createdAt: app.clock.now() }
            await insertNote(tx, note)
            return note
          },
          find: (id) => findNote(app.db, merchant.id, id),
        })
        return created('Note saved.', toNote(record), replayed)
      },
    }),
  ]
}

const toNote = ({ id, userId, text, createdAt }: NoteRow): PaymentNote => ({
  ...{ uuid: id, userId, text, createdAt: createdAt.toISOString() },
})

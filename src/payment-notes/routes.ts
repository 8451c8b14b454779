// Notes of people on payments. Only the team sees them.

import { Type } from 'typebox'
import { created, ok, type PersonRoute, personRoute } from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { PaymentNote } from './note.ts'
import { listNotes, type NoteRow } from './queries.ts'
import { createNote, PATH } from './service.ts'

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
        const note = { ...params, text }
        const { record, replayed } = await createNote(app, merchant, principal, note, key)
        return created('Note saved.', toNote(record), replayed)
      },
    }),
  ]
}

const toNote = ({ id, userId, text, createdAt }: NoteRow): PaymentNote => ({
  ...{ uuid: id, userId, text, createdAt: createdAt.toISOString() },
})

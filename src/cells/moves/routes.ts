// The operators' endpoints of moves between cells.

import { Type } from 'typebox'
import type { Cells } from '../../kit/cells/cells.ts'
import { type OperatorRoute, ok, operatorRoute } from '../../kit/http/route.ts'
import { count, flag, NamedEnum, Nullable, namedObject, Timestamp, text } from '../../kit/http/schema.ts'
import { KEEP_SECONDS } from './jobs.ts'
import type { MoveRow } from './move-queries.ts'
import { cancelMove, requireMove, type StartApp, startMove } from './start.ts'

const MoveRecord = namedObject(
  'MerchantMove',
  {
    from: text('The cell that the merchant leaves.', 'main'),
    to: text('The cell that it goes to.', 'west-1'),
    step: NamedEnum('MerchantMoveStep', ['copy', 'clean', 'done'], {
      description:
        '`copy`: it works in the old cell while it is copied. `clean`: it works in the new cell, and the old copy waits to be deleted. `done`: the copy that is not used is deleted.',
    }),
    copiedRows: count('How many rows were copied, without those of the switch.'),
    switchAttempts: count(
      'How many switches were ended, because they were not decided within 0.65 seconds. Its writes go on, and the switch is tried again.',
    ),
    pauseMs: Nullable(
      Type.Integer(),
      'How long its writes have waited for the switch, in milliseconds. Null before the switch.',
    ),
    problem: Nullable(
      Type.String(),
      'Why the last try of a step has failed; it is repeated. Null if it has not.',
    ),
    isRefused: flag(
      'Whether a person must look at the problem. The step is repeated after five minutes, or at once when the move is asked for again.',
    ),
    isCancelled: flag(
      'Whether it was cancelled: the merchant stays in the old cell. The copy in the new one is deleted when the step is `done`.',
    ),
    createdAt: Timestamp,
    switchedAt: Nullable(Timestamp, 'Since when it works in the new cell, in UTC. Null before.'),
  },
  { description: 'The move of a merchant from one database to another.' },
)

const EXAMPLE = {
  from: 'main',
  to: 'west-1',
  step: 'clean',
  copiedRows: 214_000,
  switchAttempts: 0,
  pauseMs: 180,
  problem: null,
  isRefused: false,
  isCancelled: false,
  createdAt: '2026-03-14T09:26:53.589Z',
  switchedAt: '2026-03-14T09:28:12.100Z',
} as const

const MoveBody = namedObject('MoveMerchantRequest', {
  cell: Type.String({ minLength: 1, maxLength: 31, description: 'The name of an active cell, or `main`.' }),
  keepSeconds: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: 86_400,
      description:
        'How long the old copy is kept after the switch, for requests that still use it. Absent: 300.',
    }),
  ),
})

const Params = Type.Object({ uuid: Type.String({ format: 'uuid', description: 'The merchant.' }) })

export function moveRoutes(app: StartApp): OperatorRoute[] {
  return [
    operatorRoute({
      method: 'POST',
      path: '/admin/v1/merchants/{uuid}/move',
      operationId: 'merchants.move',
      summary: 'Move a merchant to another cell',
      description:
        'It works on while a job copies it; at the switch its writes wait for less than a second. Asked again, it answers how far the move is.',
      params: Params,
      body: MoveBody,
      response: { http: 200, data: MoveRecord },
      errors: ['validation_failed', 'merchant_not_found'],
      examples: { body: { cell: 'west-1' }, data: EXAMPLE },
      handle: async ({ params, body: { cell, keepSeconds = KEEP_SECONDS } }) =>
        ok(
          'The merchant is moved.',
          toRecord(app.cells, await startMove(app, params.uuid, { cell, keepSeconds })),
        ),
    }),
    operatorRoute({
      method: 'GET',
      path: '/admin/v1/merchants/{uuid}/move',
      operationId: 'merchants.getMove',
      summary: 'Get the last move of a merchant',
      description: 'A merchant that was never moved has none.',
      params: Params,
      response: { http: 200, data: MoveRecord },
      errors: ['validation_failed', 'merchant_not_found'],
      examples: { data: EXAMPLE },
      handle: async ({ params }) =>
        ok('The last move of the merchant.', toRecord(app.cells, await requireMove(app, params.uuid))),
    }),
    operatorRoute({
      method: 'POST',
      path: '/admin/v1/merchants/{uuid}/move/cancel',
      operationId: 'merchants.cancelMove',
      summary: 'Cancel the move of a merchant',
      description:
        'Before the switch: the merchant stays in its cell, and a job deletes the copy. Refused after the switch. Asked again, it answers how far that is.',
      params: Params,
      response: { http: 200, data: MoveRecord },
      errors: ['validation_failed', 'merchant_not_found'],
      examples: { data: EXAMPLE },
      handle: async ({ params }) =>
        ok('The move is cancelled.', toRecord(app.cells, await cancelMove(app, params.uuid))),
    }),
  ]
}

function toRecord({ nameOf }: Pick<Cells, 'nameOf'>, move: MoveRow) {
  return {
    from: nameOf(move.fromCell),
    to: nameOf(move.toCell),
    step: move.step,
    copiedRows: Number(move.copiedRows),
    switchAttempts: move.switchAttempts,
    pauseMs: move.pauseMs,
    problem: move.problem,
    isRefused: move.isRefused,
    isCancelled: move.isCancelled,
    createdAt: move.createdAt.toISOString(),
    switchedAt: move.switchedAt?.toISOString() ?? null,
  }
}

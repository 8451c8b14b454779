// For the people of a merchant in the dashboard: settlement files of its own accounts at gateways, and their breaks.

import { Type } from 'typebox'
import { ApiError } from '../core/errors.ts'
import { SANDBOX } from '../core/gateway-accounts/name.ts'
import { created, listed, ok, type PersonRoute, personRoute } from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'
import { listAccountGateways } from './collected-queries.ts'
import { type ReconciliationApp, reconcileFile } from './reconcile.ts'
import type { BreakRow } from './reconciliation.ts'
import { preview } from './routes.ts'
import {
  AssignBody,
  BreaksQuery,
  CloseBody,
  ReconcileBody,
  ReconciliationsQuery,
  toBreak,
  toReconciliation,
} from './schema.ts'
import {
  assignBreak,
  closeBreak,
  listBreaks,
  listReconciliations,
  parseUploadedFile,
  requireBreak,
  requireReconciliation,
} from './service.ts'

const FILES_PATH = '/app/reconciliations'
const BREAKS_PATH = '/app/breaks'
const READ = 'reconciliations:read'
const WRITE = 'reconciliations:write'

// The merchant is that of the session.
const OwnFileBody = Type.Omit(ReconcileBody, ['merchant'])

export function ownReconciliationRoutes(app: ReconciliationApp): PersonRoute[] {
  return [...fileRoutes(app), ...breakRoutes(app)]
}

/** The gateways whose files the people of the merchant may upload; in staging also the sandbox. */
async function ownAccounts({ db, mode }: ReconciliationApp, merchantId: string): Promise<string[]> {
  const own = await listAccountGateways(db, merchantId)
  return mode === 'test' ? [SANDBOX, ...own] : own
}

/** Every line of a file of another account would be a difference. */
async function assertOwnAccount(app: ReconciliationApp, merchantId: string, gateway: string): Promise<void> {
  if ((await ownAccounts(app, merchantId)).includes(gateway)) return
  const message = 'Choose an account of your own: settlement files are compared with what it has collected.'
  throw new ApiError('validation_failed', {
    message,
    details: [{ field: 'gateway', code: 'not_allowed', message }],
  })
}

function fileRoutes(app: ReconciliationApp): PersonRoute[] {
  return [
    personRoute({
      method: 'GET',
      path: `${FILES_PATH}/accounts`,
      scope: READ,
      operationId: 'reconciliations.accounts',
      handle: async ({ merchant }) => ok('Accounts.', await ownAccounts(app, merchant.id)),
    }),
    personRoute({
      method: 'POST',
      path: FILES_PATH,
      scope: WRITE,
      operationId: 'reconciliations.create',
      body: OwnFileBody,
      handle: async ({ merchant, body }) => {
        await assertOwnAccount(app, merchant.id, body.gateway)
        const file = await parseUploadedFile(app, { ...body, merchant: merchant.id })
        return created('File reconciled.', toReconciliation(await reconcileFile(app, file)))
      },
    }),
    personRoute({
      method: 'POST',
      path: `${FILES_PATH}/preview`,
      scope: WRITE,
      operationId: 'reconciliations.preview',
      audited: false,
      body: OwnFileBody,
      handle: async ({ merchant, body }) => {
        await assertOwnAccount(app, merchant.id, body.gateway)
        return ok('Nothing was changed.', await preview(app, { ...body, merchant: merchant.id }))
      },
    }),
    personRoute({
      method: 'GET',
      path: FILES_PATH,
      scope: READ,
      operationId: 'reconciliations.list',
      query: ReconciliationsQuery,
      handle: async ({ merchant, query }) => {
        const { rows, meta } = await listReconciliations(app, merchant.id, query)
        return listed('Reconciliations.', rows.map(toReconciliation), meta)
      },
    }),
    personRoute({
      method: 'GET',
      path: `${FILES_PATH}/{uuid}`,
      scope: READ,
      operationId: 'reconciliations.get',
      params: UuidParams,
      handle: async ({ merchant, params }) =>
        ok('Reconciliation.', toReconciliation(await requireReconciliation(app, merchant.id, params.uuid))),
    }),
  ]
}

function breakRoutes(app: ReconciliationApp): PersonRoute[] {
  // What an operator wrote is for operators.
  const serialize = (row: BreakRow) =>
    toBreak(
      {
        ...row,
        owner: row.assignedBy === 'operator' ? 'operator' : row.owner,
        note: row.noteBy === 'operator' ? null : row.note,
      },
      app.clock.now(),
    )
  return [
    personRoute({
      method: 'GET',
      path: BREAKS_PATH,
      scope: READ,
      operationId: 'reconciliationBreaks.list',
      query: BreaksQuery,
      handle: async ({ merchant, query }) => {
        const { rows, meta } = await listBreaks(app, merchant.id, query)
        return listed('Breaks.', rows.map(serialize), meta)
      },
    }),
    personRoute({
      method: 'GET',
      path: `${BREAKS_PATH}/{uuid}`,
      scope: READ,
      operationId: 'reconciliationBreaks.get',
      params: UuidParams,
      handle: async ({ merchant, params }) =>
        ok('Break.', serialize(await requireBreak(app, merchant.id, params.uuid))),
    }),
    personRoute({
      method: 'POST',
      path: `${BREAKS_PATH}/{uuid}/close`,
      scope: WRITE,
      operationId: 'reconciliationBreaks.close',
      params: UuidParams,
      body: CloseBody,
      handle: async ({ merchant, params, body }) =>
        ok('Break closed.', serialize(await closeBreak(app, merchant.id, params.uuid, body.note))),
    }),
    personRoute({
      method: 'POST',
      path: `${BREAKS_PATH}/{uuid}/assign`,
      scope: WRITE,
      operationId: 'reconciliationBreaks.assign',
      params: UuidParams,
      body: AssignBody,
      handle: async ({ merchant, params, body }) =>
        ok('Break assigned.', serialize(await assignBreak(app, merchant.id, params.uuid, body))),
    }),
  ]
}

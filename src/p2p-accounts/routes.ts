import { created, listed, ok, type Route, route } from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'
import { ACCOUNT_BODY_EXAMPLE, ACCOUNT_CHANGES_EXAMPLE, ACCOUNT_EXAMPLE } from './examples.ts'
import { accountIssues } from './input.ts'
import { AccountBody, AccountChanges, AccountRecord, AccountsQuery, toAccount } from './schema.ts'
import {
  createAccount,
  deleteAccount,
  listAccounts,
  type P2pAccountsApp,
  requireAccount,
  updateReceivingAccount,
} from './service.ts'

const COMMON = { tag: 'P2P', scope: 'p2p:write' } as const

export function p2pAccountRoutes(app: P2pAccountsApp): Route[] {
  return [
    route({
      ...COMMON,
      method: 'POST',
      path: '/api/v1/p2p/accounts',
      operationId: 'p2pAccounts.create',
      summary: 'Create a receiving account',
      description:
        'A bank or mobile-money account of yours that payers can send money to. Checkout offers it for its currency and country, and P2P payments are sent to it. If several match, an account of the same country is preferred, then the oldest.',
      body: AccountBody,
      issues: accountIssues,
      response: { http: 201, data: AccountRecord },
      errors: [
        'invalid_currency',
        'country_required',
        'invalid_country',
        'card_data_not_allowed',
        'invalid_state',
      ],
      examples: { body: ACCOUNT_BODY_EXAMPLE, data: ACCOUNT_EXAMPLE },
      handle: async ({ merchant, body, idempotencyKey }) => {
        const { record, replayed } = await createAccount(app, merchant, body, idempotencyKey)
        return created('Receiving account created.', toAccount(record), replayed)
      },
    }),
    route({
      ...COMMON,
      scope: 'p2p:read',
      method: 'GET',
      path: '/api/v1/p2p/accounts',
      operationId: 'p2pAccounts.list',
      summary: 'List receiving accounts',
      description: 'Newest first, including inactive ones. Deleted accounts are left out.',
      query: AccountsQuery,
      response: { http: 200, data: AccountRecord, list: true },
      errors: ['validation_failed', 'invalid_currency'],
      examples: { data: [ACCOUNT_EXAMPLE] },
      handle: async ({ merchant, query }) => {
        const { rows, meta } = await listAccounts(app, merchant, query)
        return listed('Receiving accounts retrieved.', rows.map(toAccount), meta)
      },
    }),
    ...singleAccountRoutes(app),
  ]
}

function singleAccountRoutes(app: P2pAccountsApp): Route[] {
  const common = {
    ...COMMON,
    path: '/api/v1/p2p/accounts/{uuid}',
    params: UuidParams,
    response: { http: 200, data: AccountRecord },
  } as const
  return [
    route({
      ...common,
      scope: 'p2p:read',
      method: 'GET',
      operationId: 'p2pAccounts.get',
      summary: 'Get a receiving account',
      description: 'As your payers see it, with whether new payments use it.',
      errors: ['invalid_uuid', 'p2p_account_not_found'],
      examples: { data: ACCOUNT_EXAMPLE },
      handle: async ({ merchant, params }) =>
        ok('Receiving account retrieved.', toAccount(await requireAccount(app, merchant, params.uuid))),
    }),
    route({
      ...common,
      method: 'PATCH',
      operationId: 'p2pAccounts.update',
      summary: 'Update, enable or disable a receiving account',
      description:
        'Absent fields stay unchanged. Payments that already show the account keep what they show. Channel, currency and country cannot be changed: add another account.',
      body: AccountChanges,
      errors: ['invalid_uuid', 'p2p_account_not_found', 'card_data_not_allowed'],
      examples: { body: ACCOUNT_CHANGES_EXAMPLE },
      handle: async ({ merchant, params, body }) => {
        const account = await updateReceivingAccount(app, merchant, params.uuid, body)
        return ok('Receiving account updated.', toAccount(account))
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      operationId: 'p2pAccounts.delete',
      summary: 'Delete a receiving account',
      description: 'No new payment uses it. Payments that already show this account keep it.',
      errors: ['invalid_uuid', 'p2p_account_not_found'],
      examples: { data: ACCOUNT_EXAMPLE },
      handle: async ({ merchant, params }) =>
        ok('Receiving account deleted.', toAccount(await deleteAccount(app, merchant, params.uuid))),
    }),
  ]
}

// The operators' routes over the accounts of people, under /admin/v1.

import { requireFound } from '../../core/errors.ts'
import { listed, type OperatorRoute, ok, operatorRoute } from '../../kit/http/route.ts'
import { UuidParams } from '../../kit/http/schema.ts'
import { pageMeta, readWindow } from '../../merchants/operator-list.ts'
import { disableUser } from '../accounts.ts'
import type { PeopleApp } from '../app.ts'
import { normalizeEmail } from '../sign-in.ts'
import { UserRecord, UsersQuery } from './schema.ts'
import { enableUserRow, findManagedUser, listManagedUsers, type ManagedUser } from './user-list-queries.ts'

const EXAMPLE = {
  uuid: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
  email: 'wanjiru@example.com',
  name: 'Wanjiru Kamau',
  kind: 'member',
  merchants: ['0197a3c2-6a40-7d11-8f3e-2b9d4c6e8a10'],
  hasSecondFactor: true,
  createdAt: '2026-03-14T09:26:53.589Z',
  disabledAt: null,
}

export function operatorUserRoutes(app: PeopleApp): OperatorRoute[] {
  return [
    operatorRoute({
      method: 'GET',
      path: '/admin/v1/users',
      operationId: 'users.list',
      summary: 'List the people who can sign in, newest first',
      description: 'The members of all merchants, and operators. By pages, without cursors.',
      query: UsersQuery,
      response: { http: 200, data: UserRecord, list: true },
      errors: [],
      examples: { data: [EXAMPLE] },
      handle: async ({ query }) => {
        const { page, limit, offset } = readWindow(query)
        const { kind = null, email } = query
        const filter = { kind, email: email === undefined ? null : normalizeEmail(email) }
        const { users, total } = await listManagedUsers(app.peopleDb, filter, limit, offset)
        return listed('People.', users.map(serializeUser), pageMeta(page, limit, total))
      },
    }),
    statusRoute(app, 'disable', {
      summary: 'Disable an account',
      description:
        'The person cannot sign in any more, and their sessions and links end at once. Their entries stay in the audit log.',
      change: (id) => disableUser(app, id),
    }),
    statusRoute(app, 'enable', {
      summary: 'Enable an account that was disabled',
      description: 'The person can sign in again, with the password and second factor of before.',
      change: (id) => enableUserRow(app.peopleDb, id),
    }),
  ]
}

function statusRoute(
  app: PeopleApp,
  verb: 'disable' | 'enable',
  { change, ...about }: { summary: string; description: string; change(id: string): Promise<void> },
): OperatorRoute {
  return operatorRoute({
    method: 'POST',
    path: `/admin/v1/users/{uuid}/${verb}`,
    operationId: `users.${verb}`,
    ...about,
    params: UuidParams,
    response: { http: 200, data: UserRecord },
    errors: ['invalid_uuid', 'user_not_found'],
    examples: { data: EXAMPLE },
    handle: async ({ params: { uuid } }) => {
      await requireUser(app, uuid)
      await change(uuid)
      return ok('Account.', serializeUser(await requireUser(app, uuid)))
    },
  })
}

async function requireUser({ peopleDb }: PeopleApp, id: string): Promise<ManagedUser> {
  return requireFound(await findManagedUser(peopleDb, id), 'user_not_found')
}

function serializeUser({ id: uuid, createdAt, disabledAt, ...user }: ManagedUser) {
  return {
    uuid,
    ...user,
    createdAt: createdAt.toISOString(),
    disabledAt: disabledAt?.toISOString() ?? null,
  }
}

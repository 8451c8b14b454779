// Saved views of the list of payments: each person has their own, and may share them with the team.

import { Type } from 'typebox'
import { ApiError, requireFound } from '../core/errors.ts'
import type { Merchant, Principal } from '../core/merchant.ts'
import { created, ok, type PersonRoute, personRoute } from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'
import { createView, type ViewsApp } from './create.ts'
import { deleteView, findView, listViews, updateView, type ViewRow } from './queries.ts'
import type { SavedView } from './view.ts'

const PATH = '/app/views'
const NAMED = {
  name: Type.String({ minLength: 1, maxLength: 60, pattern: '\\S', 'x-nfc': true }),
  isShared: Type.Boolean(),
}
/** Every role reads payments. */
const COMMON = { scope: 'checkout:read', path: PATH } as const

export function savedViewRoutes(app: ViewsApp): PersonRoute[] {
  return [
    personRoute({
      ...COMMON,
      method: 'GET',
      operationId: 'savedViews.list',
      handle: async ({ merchant, principal }) =>
        ok('Saved views.', (await listViews(app.instanceDb, merchant.id, principal.id)).map(toView)),
    }),
    personRoute({
      ...COMMON,
      method: 'POST',
      operationId: 'savedViews.create',
      body: Type.Object({ ...NAMED, query: Type.String({ minLength: 1, maxLength: 1000 }) }),
      handle: async ({ merchant, principal, body }) =>
        created('View saved.', toView(await createView(app, merchant, principal, body))),
    }),
    personRoute({
      ...COMMON,
      method: 'PATCH',
      path: `${PATH}/{uuid}`,
      operationId: 'savedViews.update',
      params: UuidParams,
      body: Type.Object(NAMED),
      handle: async ({ merchant, principal, params, body }) => {
        const view = await requireOwnView(app, merchant, principal, params.uuid)
        const changed = { ...view, ...body, updatedAt: app.clock.now() }
        if (!(await updateView(app.instanceDb, changed)))
          throw new ApiError('invalid_state', { message: 'You have another view of this name.' })
        return ok('View changed.', toView(changed))
      },
    }),
    personRoute({
      ...COMMON,
      method: 'DELETE',
      path: `${PATH}/{uuid}`,
      operationId: 'savedViews.delete',
      params: UuidParams,
      handle: async ({ merchant, principal, params }) => {
        const view = await requireOwnView(app, merchant, principal, params.uuid)
        await deleteView(app.instanceDb, merchant.id, view.id)
        return ok('View deleted.', toView(view))
      },
    }),
  ]
}

/** Only its owner changes a view. People who change settings also change the shared views of others, who may have left. */
async function requireOwnView(
  app: ViewsApp,
  { id: merchantId }: Merchant,
  principal: Principal,
  id: string,
): Promise<ViewRow> {
  const view = requireFound(await findView(app.instanceDb, merchantId, id, principal.id), 'route_not_found')
  const mayTidy = principal.type === 'user' && principal.scopes.includes('settings:write')
  if (view.userId !== principal.id && !mayTidy)
    throw new ApiError('insufficient_scope', { message: 'Only its owner changes a shared view.' })
  return view
}

const toView = ({ id, userId, name, query, isShared }: ViewRow): SavedView => ({
  ...{ uuid: id, userId, name, query, isShared },
})

// A person saves the filters of a list under a name.

import { ApiError } from '../core/errors.ts'
import type { Merchant, Principal } from '../core/merchant.ts'
import type { Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db/db.ts'
import type { Random } from '../kit/random.ts'
import { listViews, saveView, type ViewRow } from './queries.ts'

export interface ViewsApp {
  instanceDb: Db
  clock: Clock
  random: Random
}

const MOST_VIEWS = 50

export async function createView(
  app: ViewsApp,
  { id: merchantId }: Merchant,
  { id: userId }: Principal,
  input: Pick<ViewRow, 'name' | 'query' | 'isShared'>,
): Promise<ViewRow> {
  const own = (await listViews(app.instanceDb, merchantId, userId)).filter((view) => view.userId === userId)
  if (own.length >= MOST_VIEWS && !own.some(({ name }) => name === input.name))
    throw new ApiError('invalid_state', { message: `You have ${MOST_VIEWS} views; delete one first.` })
  const now = app.clock.now()
  const id = app.random.uuid()
  const saved = await saveView(app.instanceDb, {
    ...input,
    merchantId,
    id,
    userId,
    createdAt: now,
    updatedAt: now,
  })
  if (!saved) throw new Error('the view was not saved')
  return saved
}

// The name that payers know a merchant by, remembered for a while: it stands on every page and in every gateway call.

import type { Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db.ts'
import { findMerchant } from './queries.ts'

const REMEMBERED_MS = 30_000
const MAX_NAMES = 10_000

export function createMerchantNames(app: { db: Db; clock: Clock }): (merchantId: string) => Promise<string> {
  const names = new Map<string, { name: string; readAt: number }>()
  return async (merchantId) => {
    const now = app.clock.now().getTime()
    const remembered = names.get(merchantId)
    if (remembered && now - remembered.readAt < REMEMBERED_MS) return remembered.name
    const merchant = await findMerchant(app.db, merchantId)
    if (!merchant) throw new Error(`merchant ${merchantId} has payments and does not exist`)
    const { name } = merchant
    if (names.size >= MAX_NAMES) names.clear()
    names.set(merchantId, { name, readAt: now })
    return name
  }
}

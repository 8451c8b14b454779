// The people of the demo merchant, one of each role, and two operators. The merchants of the demo share them.

import type { Principal } from '../core/merchant.ts'
import { createView } from '../saved-views/create.ts'
import type { DemoApp, DemoPerson, History, Team } from './app.ts'
import { actAs } from './decisions.ts'

export const TEAM: readonly DemoPerson[] = [
  { account: 'adaeze', name: 'Adaeze Okafor', role: 'owner' },
  { account: 'kwame', name: 'Kwame Mensah', role: 'admin' },
  { account: 'wanjiru', name: 'Wanjiru Kamau', role: 'finance' },
  { account: 'mariam', name: 'Mariam Traoré', role: 'support' },
  { account: 'tunde', name: 'Tunde Bello', role: 'developer' },
  { account: 'grace', name: 'Grace Achieng', role: 'viewer' },
  { account: 'otieno', name: 'Otieno Odhiambo', role: 'operator' },
  { account: 'nakato', name: 'Nakato Namuli', role: 'operator' },
]

export async function createTeam(app: DemoApp, merchantId: string): Promise<Team> {
  const people = new Map<string, Principal>()
  for (const person of TEAM) people.set(person.role, await app.addPerson(merchantId, person))
  // A boundary: the team has a person of each role.
  return Object.fromEntries(people) as unknown as Team
}

const VIEWS: readonly { by: keyof Team; name: string; query: string; isShared: boolean }[] = [
  { by: 'support', name: 'Failed in Kenya', query: 'status=failed&currency=KES', isShared: true },
  { by: 'finance', name: 'Disputed', query: 'status=disputed', isShared: true },
  {
    by: 'owner',
    name: 'Bank transfers in Nigeria',
    query: 'currency=NGN&channel=bank_transfer',
    isShared: true,
  },
  { by: 'developer', name: 'Expired', query: 'status=expired', isShared: false },
]

export async function saveViews(history: History): Promise<void> {
  const { app, merchant } = history
  for (const { by, ...view } of VIEWS)
    await actAs(history, by, 'POST /app/views', (person) => createView(app, merchant, person, view))
}

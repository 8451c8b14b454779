// The people of `cowry demo`, made by the services of people.

import type { FilledDemo } from '../cli/shell.ts'
import type { DemoPerson } from '../demo/app.ts'
import { TEAM } from '../demo/team.ts'
import { addDemoPerson, createDemoSignIn } from '../people/demo/people.ts'
import { ROLE_SCOPES } from '../people/roles.ts'

type Needs = Parameters<typeof addDemoPerson>[0]

export async function addPerson(app: Needs, merchantId: string, person: DemoPerson) {
  const id = await addDemoPerson(app, merchantId, person)
  const scopes = person.role === 'operator' ? [] : ROLE_SCOPES[person.role]
  return { type: 'user', id, scopes } as const
}

/** A link for each person, which signs in once within a day. */
export function createSignIns(app: Needs, merchantId: string, url: string): Promise<FilledDemo['people']> {
  return Promise.all(
    TEAM.map(async (person) => {
      const { name, role } = person
      const area = role === 'operator' ? 'ops' : 'app'
      const token = await createDemoSignIn(app, merchantId, person)
      return { name, role, link: `${url}/${area}/enter/${token}` }
    }),
  )
}

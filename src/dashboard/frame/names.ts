// The names of the people of a merchant, where a record has their ids.

import type { HtmlValue } from '../../kit/http/html.ts'
import { teamOf } from '../../people/team.ts'
import { written } from './components.ts'
import type { AreaRequest } from './screen.ts'

/** Who has left the team has no name any more. */
export async function loadNames(request: AreaRequest): Promise<(userId: string | null) => HtmlValue> {
  const { app, principal, texts } = request
  const members = await teamOf(app, principal).members()
  const names = new Map(members.map(({ userId, name }) => [userId, name]))
  return (userId) => userId && (written(names.get(userId)) || texts.t('formerMember'))
}

// What a form of a case was made from. A form of an older state is refused, with what has changed since.

import type { Texts } from '../../frame/texts.ts'
import type { Case } from './record.ts'

const partsOf = ({ state, proposal, paymentStatus, amountReceived, refundAmount }: Case) => [
  state,
  proposal?.at ?? '',
  paymentStatus,
  `${amountReceived ?? ''}/${refundAmount ?? ''}`,
]

export const versionOf = (one: Case): string => partsOf(one).join('|')

/** In sentences; none if the form was made from the present state. */
export function changesSince(version: string, one: Case, texts: Texts): string[] {
  const { t, word } = texts
  if (version === versionOf(one)) return []
  // The rest follows from the decision.
  if (one.resolution !== null) return changesOfProposal(one, texts)
  const [, proposal, paymentStatus, amounts] = version.split('|')
  const now = partsOf(one)
  const changes = [
    proposal !== now[1] && proposalText(one, texts),
    paymentStatus !== now[2] && t('staleStatus', { status: word('status', one.paymentStatus) }),
    amounts !== now[3] && t('staleAmount'),
  ].filter((text) => typeof text === 'string')
  return changes.length > 0 ? changes : [t('staleOther')]
}

function proposalText({ proposal }: Case, { t, word }: Texts): string {
  return proposal
    ? t('staleProposed', { resolution: word('resolution', proposal.resolution) })
    : t('staleNoProposal')
}

/** For a form that names the proposal which it is about. */
export function changesOfProposal(one: Case, texts: Texts): string[] {
  const { t, word } = texts
  if (one.resolution === null) return [proposalText(one, texts)]
  return [t('staleResolved', { resolution: word('resolution', one.resolution) })]
}

// The forms of a case: decide, and approve, reject or withdraw a proposal.

import { replaceableAt } from '../../../case-resolutions/approval.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import { field, notice, written } from '../../frame/components.ts'
import type { AreaRequest } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import { type NameOf, peopleOf } from './people.ts'
import type { Case } from './record.ts'
import { versionOf } from './version.ts'

type Proposal = NonNullable<Case['proposal']>

export function caseForms(request: AreaRequest, one: Case, nameOf: NameOf): Html {
  const { texts, allows } = request
  const { proposal } = one
  const mayDecide = allows('cases.resolve') && one.resolutions.length > 0
  return html`${proposal && proposalNotice(proposal, texts, nameOf)}${proposal && mayDecide && proposalForms(request, one, proposal)}${mayDecide && resolveForm(request, one)}`
}

function proposalNotice({ resolution, note, proof, by, at }: Proposal, texts: Texts, nameOf: NameOf): Html {
  const { t } = texts
  return notice(
    'wait',
    html`<p>${t('proposed', { resolution: texts.word('resolution', resolution) })}</p><p>${written(note)}</p>${proof && html`<p>${t('proof')}: <code>${proof}</code></p>`}<p>${peopleOf(by, texts, nameOf)}</p><p>${texts.time(at)}</p>`,
  )
}

/** Of operators the API says it, because their names are not unique. */
export function isOwnProposal({ principal }: Pick<AreaRequest, 'principal'>, one: Case): boolean {
  return one.isOwnProposal ?? one.proposal?.by === `user:${principal.user.id}`
}

/** People decide about the proposals of others, and withdraw their own. */
function proposalForms(request: AreaRequest, one: Case, proposal: Proposal): Html {
  const { base, postForm, texts, form } = request
  const { t } = texts
  const path = `${base}/cases/${one.uuid}`
  const which = html`<input type="hidden" name="proposedAt" value="${proposal.at}">`
  if (isOwnProposal(request, one))
    return html`<section class="card"><p>${t('caseOwnProposal')}</p>${postForm(`${path}/reject`, html`${which}<button class="plain">${t('caseWithdraw')}</button>`)}</section>`
  const resolution = texts.word('resolution', proposal.resolution)
  // The API requires a note. Merchants do not get that of an operator, so they write their own.
  const isRequired = proposal.note === ''
  const note = field('approval', t(isRequired ? 'note' : 'caseApproveNote'), {
    ...{ value: form.approval ?? '', isRequired },
  })
  return html`<section class="card"><h2>${t('caseApproveTitle')}</h2><p>${t('caseApproveText', { resolution })}</p>${postForm(
    `${path}/approve`,
    html`${which}<input type="hidden" name="resolution" value="${proposal.resolution}">${note}<button>${t('caseApprove')}</button>`,
  )}</section>
<section class="card"><h2>${t('caseReject')}</h2>${postForm(
    `${path}/reject`,
    html`${which}${field('reason', t('caseRejectReason'), { value: form.reason ?? '', isRequired: true })}<button class="plain">${t('reject')}</button>`,
  )}</section>`
}

/** While the proposal of another person waits, only a status check is possible beside it. */
function choicesOf(request: AreaRequest, one: Case): Case['resolutions'] {
  const { proposal, resolutions } = one
  const isFree = proposal === null || isOwnProposal(request, one) || request.now >= replaceableAt(proposal)
  return isFree ? resolutions : resolutions.filter((value) => value === 'ask_again')
}

function resolveForm(request: AreaRequest, one: Case): Html | null {
  const { base, postForm, texts, form } = request
  const { t } = texts
  const values = choicesOf(request, one)
  if (values.length === 0) return null
  const chosen = form.resolution ?? one.proposal?.resolution
  const choices = values.map(
    (value) =>
      html`<label class="tick"><input type="radio" name="resolution" value="${value}" required${value === chosen && html` checked`}> <span>${texts.word('resolution', value)}<span class="sub">${texts.word('effect', value)}</span></span></label>`,
  )
  const proof = { value: form.proof ?? one.proposal?.proof ?? '', hint: t('proofHint') }
  const takesProof = values.some((value) => value !== 'ask_again')
  const fields = html`<input type="hidden" name="version" value="${versionOf(one)}"><fieldset><legend>${t('decide')}</legend>${choices}</fieldset>
${takesProof && field('proof', t('proof'), proof)}
${field('note', t('note'), { value: form.note ?? '', isRequired: true, hint: t('noteHint') })}<button>${t('decideButton')}</button>`
  return html`<section class="card"><h2>${t('decideTitle')}</h2>${postForm(`${base}/cases/${one.uuid}/resolve`, fields)}</section>`
}

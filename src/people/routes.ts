// The operators' routes over people, under /admin/v1: invitations of a merchant's first owner and of operators, and those
// of operators that are open.

import { Type } from 'typebox'
import { requireFound } from '../core/errors.ts'
import { singlePage } from '../core/page.ts'
import { created, listed, type OperatorRoute, ok, operatorRoute } from '../kit/http/route.ts'
import {
  described,
  Email,
  Nullable,
  namedObject,
  Timestamp,
  text,
  Uuid,
  UuidParams,
} from '../kit/http/schema.ts'
import type { ManagedMerchant } from '../merchants/service.ts'
import type { PeopleApp } from './app.ts'
import { type CreatedInvitation, inviteOwner } from './team.ts'
import {
  listOperatorInvitationRows,
  type OpenInvitation,
  revokeOperatorInvitationRow,
} from './team-queries.ts'
import { demoLinkRoute } from './users/demo-links.ts'
import { inviteOperator } from './users/invite-operator.ts'

interface Needs extends PeopleApp {
  isStaging: boolean
  publicUrl(): string
  requireMerchant(id: string): Promise<ManagedMerchant>
}

const InvitationBody = Type.Object({
  email: described(Email, 'The e-mail address of the person. Upper and lower case are the same.'),
})

const InvitationRecord = namedObject(
  'Invitation',
  {
    uuid: Uuid,
    merchant: Nullable(Uuid, 'The uuid of the merchant. Null for an operator.'),
    email: text('The e-mail address of the person, in lower case.', 'wanjiru@example.com'),
    role: text('The role that the person gets: owner or operator.', 'owner'),
    link: text(
      'Give it to the person. It works once, is not shown again, and must be kept secret.',
      'https://pay.example.com/app/join/2V8cZk0Qm1x7rYb3tN5wLd9sFg4hJ6kP0aQeRuTiOyX',
    ),
    expiresAt: described(Timestamp, 'Until when the link can be used.'),
  },
  { description: 'An invitation to the dashboard.' },
)

const BODY_EXAMPLE = { email: 'wanjiru@example.com' }
const INVITATION_EXAMPLE = {
  uuid: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
  merchant: '0197a3c2-6a40-7d11-8f3e-2b9d4c6e8a10',
  email: 'wanjiru@example.com',
  role: 'owner',
  link: 'https://pay.example.com/app/join/2V8cZk0Qm1x7rYb3tN5wLd9sFg4hJ6kP0aQeRuTiOyX',
  expiresAt: '2026-03-21T09:26:53.589Z',
}

const OpenInvitationRecord = namedObject(
  'OpenInvitation',
  {
    uuid: Uuid,
    email: text('The e-mail address of the person, in lower case.', 'otieno@example.com'),
    invitedBy: Nullable(Uuid, 'The operator who has invited the person. Null: the operator token.'),
    createdAt: described(Timestamp, 'When the person was invited.'),
    expiresAt: described(Timestamp, 'Until when the link can be used.'),
  },
  { description: 'An invitation of an operator that was not used. Its link is not shown again.' },
)

const OPEN_EXAMPLE = {
  uuid: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
  email: 'otieno@example.com',
  invitedBy: null,
  createdAt: '2026-03-14T09:26:53.589Z',
  expiresAt: '2026-03-21T09:26:53.589Z',
}

export function operatorPeopleRoutes(app: Needs): OperatorRoute[] {
  return [
    operatorRoute({
      method: 'POST',
      path: '/admin/v1/merchants/{uuid}/owner-invitations',
      operationId: 'ownerInvitations.create',
      summary: 'Invite an owner of a merchant to the dashboard',
      description:
        'Returns a link for the person, who chooses a password and invites the rest of the team. It works once, within 7 days.',
      params: UuidParams,
      body: InvitationBody,
      response: { http: 201, data: InvitationRecord },
      errors: ['merchant_not_found'],
      examples: { body: BODY_EXAMPLE, data: INVITATION_EXAMPLE },
      handle: async ({ params, body, operator }) => {
        const { id: merchantId } = await app.requireMerchant(params.uuid)
        const invitation = await inviteOwner(app, {
          ...body,
          merchantId,
          invitedBy: operator?.userId ?? null,
        })
        return created(CREATED_MESSAGE, serializeInvitation(app, invitation))
      },
    }),
    operatorRoute({
      method: 'POST',
      path: '/admin/v1/operator-invitations',
      operationId: 'operatorInvitations.create',
      summary: 'Invite an operator of this instance to the dashboard',
      description:
        'Returns a link for the person, who chooses a password. It works once, within 7 days. An address that has an account or an open invitation is refused.',
      body: InvitationBody,
      response: { http: 201, data: InvitationRecord },
      errors: ['invalid_state'],
      examples: { body: BODY_EXAMPLE, data: INVITATION_EXAMPLE },
      handle: async ({ body, operator }) => {
        const invitation = await inviteOperator(app, { ...body, invitedBy: operator?.userId ?? null })
        return created(CREATED_MESSAGE, serializeInvitation(app, invitation))
      },
    }),
    ...openInvitationRoutes(app),
    ...(app.isStaging ? [demoLinkRoute(app)] : []),
  ]
}

function openInvitationRoutes({ peopleDb: db, clock }: Needs): OperatorRoute[] {
  return [
    operatorRoute({
      method: 'GET',
      path: '/admin/v1/operator-invitations',
      operationId: 'operatorInvitations.list',
      summary: 'List the open invitations of operators, newest first',
      description: 'An invitation is open until it is used, revoked or 7 days old.',
      response: { http: 200, data: OpenInvitationRecord, list: true },
      errors: [],
      examples: { data: [OPEN_EXAMPLE] },
      handle: async () => {
        const invitations = (await listOperatorInvitationRows(db, clock.now())).map(serializeOpen)
        return listed('Open invitations.', invitations, singlePage(invitations.length))
      },
    }),
    operatorRoute({
      method: 'POST',
      path: '/admin/v1/operator-invitations/{uuid}/revoke',
      operationId: 'operatorInvitations.revoke',
      summary: 'Revoke an open invitation of an operator',
      description: 'Its link does not work any more.',
      params: UuidParams,
      response: { http: 200, data: OpenInvitationRecord },
      errors: ['invalid_uuid', 'invitation_not_found'],
      examples: { data: OPEN_EXAMPLE },
      handle: async ({ params }) => {
        const revoked = await revokeOperatorInvitationRow(db, params.uuid, clock.now())
        return ok('Invitation revoked.', serializeOpen(requireFound(revoked, 'invitation_not_found')))
      },
    }),
  ]
}

function serializeOpen({ id: uuid, email, invitedBy, createdAt, expiresAt }: OpenInvitation) {
  return {
    ...{ uuid, email, invitedBy },
    ...{ createdAt: createdAt.toISOString(), expiresAt: expiresAt.toISOString() },
  }
}

const CREATED_MESSAGE = 'Invitation created. Give the link to the person now: it is not shown again.'

function serializeInvitation(app: Needs, invitation: CreatedInvitation) {
  const { id: uuid, merchantId: merchant, email, role, token, expiresAt } = invitation
  const link = `${app.publicUrl()}/app/join/${token}`
  return { uuid, merchant, email, role, link, expiresAt: expiresAt.toISOString() }
}

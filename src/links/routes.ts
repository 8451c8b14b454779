import { created, listed, ok, type Route, route } from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'
import { PaymentsWithinQuery } from '../payment-lists/filters.ts'
import { listPayments, type PaymentListsApp } from '../payment-lists/list.ts'
import { PaymentRecord } from '../payments/schema.ts'
import { serializePayments } from '../payments/views.ts'
import type { LinksApp } from './app.ts'
import { CHANGE_LINK_EXAMPLE, CREATE_LINK_EXAMPLE, LINK_EXAMPLE, STORED_LINK_EXAMPLE } from './examples.ts'
import { ChangeLinkBody, CreateLinkBody, changeLinkIssues, createLinkIssues } from './input.ts'
import { LinkRecord, LinksQuery, StoredLinkRecord, toLink, toStoredLink } from './schema.ts'
import { changeLink, createLink, deactivateLink, listLinks, requireLink } from './service.ts'

export function linkRoutes(app: LinksApp & PaymentListsApp): Route[] {
  const allowHttp = app.settings.mode === 'test'
  return [
    route({
      method: 'POST',
      path: '/api/v1/payment-links',
      tag: 'Payment Links',
      scope: 'links:write',
      operationId: 'paymentLinks.create',
      summary: 'Create a payment link',
      description:
        'A URL at which people pay without a shop: they enter name and e-mail, choose the amount if it is open, and continue to checkout. It accepts one payment, up to maxPayments, or any number; a payer beyond that limit is not charged.',
      body: CreateLinkBody,
      issues: createLinkIssues(allowHttp),
      response: { http: 201, data: LinkRecord },
      errors: [
        'invalid_currency',
        'country_required',
        'invalid_country',
        'amount_out_of_range',
        'amount_precision',
        'no_route_available',
        'card_data_not_allowed',
      ],
      examples: { body: CREATE_LINK_EXAMPLE, data: LINK_EXAMPLE },
      handle: async ({ merchant, body, idempotencyKey }) => {
        const { record, replayed } = await createLink(app, merchant, body, idempotencyKey)
        return created('Payment link created.', toLink(app, record), replayed)
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/payment-links',
      tag: 'Payment Links',
      scope: 'links:read',
      operationId: 'paymentLinks.list',
      summary: 'List payment links',
      description:
        'Newest first, without the QR codes: each link has its own. Searchable by title or slug; use cursors for deep pages.',
      query: LinksQuery,
      response: { http: 200, data: StoredLinkRecord, list: true },
      errors: ['invalid_currency'],
      examples: { data: [STORED_LINK_EXAMPLE] },
      handle: async ({ merchant, query }) => {
        const { rows, meta } = await listLinks(app, merchant, query)
        const records = rows.map((row) => toStoredLink(app, row))
        return listed('Payment links retrieved.', records, meta)
      },
    }),
    ...singleLinkRoutes(app, allowHttp),
  ]
}

function singleLinkRoutes(app: LinksApp & PaymentListsApp, allowHttp: boolean): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/payment-links/{uuid}',
      tag: 'Payment Links',
      scope: 'links:read',
      operationId: 'paymentLinks.get',
      summary: 'Get a payment link',
      description: 'With its URL and QR code, and what it has collected so far.',
      params: UuidParams,
      response: { http: 200, data: LinkRecord },
      errors: ['invalid_uuid', 'payment_link_not_found'],
      examples: { data: LINK_EXAMPLE },
      handle: async ({ merchant, params }) =>
        ok('Payment link retrieved.', toLink(app, await requireLink(app, merchant, params.uuid))),
    }),
    route({
      method: 'PATCH',
      path: '/api/v1/payment-links/{uuid}',
      tag: 'Payment Links',
      scope: 'links:write',
      operationId: 'paymentLinks.update',
      summary: 'Update a payment link',
      description:
        'Absent fields stay unchanged; null clears an optional field. Amount, currency, country and usage cannot be changed. maxPayments cannot be below the number of payments that are paid or in progress.',
      params: UuidParams,
      body: ChangeLinkBody,
      issues: changeLinkIssues(allowHttp),
      response: { http: 200, data: LinkRecord },
      errors: [
        'invalid_uuid',
        'payment_link_not_found',
        'amount_out_of_range',
        'amount_precision',
        'invalid_state',
        'card_data_not_allowed',
      ],
      examples: { body: CHANGE_LINK_EXAMPLE },
      handle: async ({ merchant, params, body }) =>
        ok('Payment link changed.', toLink(app, await changeLink(app, merchant, params.uuid, body))),
    }),
    route({
      method: 'POST',
      path: '/api/v1/payment-links/{uuid}/deactivate',
      tag: 'Payment Links',
      scope: 'links:write',
      operationId: 'paymentLinks.deactivate',
      summary: 'Deactivate a payment link',
      description:
        'No new payment can start; a payment that is being approved may still finish. A repeat changes nothing.',
      params: UuidParams,
      response: { http: 200, data: LinkRecord },
      errors: ['invalid_uuid', 'payment_link_not_found'],
      handle: async ({ merchant, params, idempotencyKey }) => {
        const { record, replayed } = await deactivateLink(app, merchant, params.uuid, idempotencyKey)
        return ok('Payment link deactivated.', toLink(app, record), replayed)
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/payment-links/{uuid}/payments',
      tag: 'Payment Links',
      scope: 'links:read',
      operationId: 'paymentLinks.listPayments',
      summary: 'List the payments of a link',
      description: 'All payments that were started at the link, in every status. Newest first.',
      params: UuidParams,
      query: PaymentsWithinQuery,
      response: { http: 200, data: PaymentRecord, list: true },
      errors: ['validation_failed', 'invalid_currency', 'invalid_uuid', 'payment_link_not_found'],
      handle: async ({ merchant, params, query }) => {
        const { id } = await requireLink(app, merchant, params.uuid)
        const { rows, meta } = await listPayments(app, merchant, { linkId: id }, query)
        return listed('Payments retrieved.', await serializePayments(app, rows), meta)
      },
    }),
  ]
}

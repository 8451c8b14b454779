/**
 * So many moves may wait at once, because a cell does not answer or their switch would take too long. A drain begins no other
 * one until fewer wait.
 */
export const MOST_DELAYED = 10

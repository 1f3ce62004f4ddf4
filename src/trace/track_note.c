/* SPDX-License-Identifier: GPL-2.0-or-later */
/* track_note.c: writes the trace of what a vCPU executes; see track.h. */
#include "trace/track_frames.h"

/* The vCPU is on another stack than before, or on one that the reader does not know;
 * its first n frames are open. */
void us_track_note_stack(struct us_tracker *t, uint32_t epoch, uint32_t n)
{
	struct us_track_stack *s = t->stack;
	uint64_t now = t->vcpu->charged;
	bool known = s->epoch == epoch;
	us_events_put(t->events, US_EVENT_STACK,
		      s->number | (known ? 0 : US_EVENT_FORGET), now);
	t->events->stack = s;
	s->epoch = epoch;
	for (uint32_t i = 0; i < n && i < US_TRACK_DEPTH && !known; i++)
		if (s->frame[i].traced)
			us_events_put(t->events, US_EVENT_OPEN,
				      s->frame[i].function->number, now);
}

/* Make sure that the trace says where the vCPU is, with the first n frames.  False:
 * tracing is off. */
bool us_track_note_place(struct us_tracker *t, uint32_t n)
{
	uint32_t epoch = us_events_epoch(t->events);
	if (epoch && (t->events->stack != t->stack || t->stack->epoch != epoch))
		us_track_note_stack(t, epoch, n);
	return epoch;
}

/* n: number of frames before this event. */
void us_track_note(struct us_tracker *t, enum us_event_kind kind, uint32_t number,
		   uint32_t n)
{
	if (us_track_note_place(t, n))
		us_events_put(t->events, kind, number, t->vcpu->charged);
}

static const struct us_track_frame *last_frame(const struct us_tracker *t)
{
	return us_track_top(t->stack);
}

void us_track_note_entry(struct us_tracker *t, enum us_event_kind kind)
{
	const struct us_track_frame *x = last_frame(t);
	uint8_t choice = x->function->choice;
	if (choice & US_FUNCTION_FROM)
		us_events_switch(t->events->head, true);
	if (x->traced)
		us_track_note(t, kind, x->function->number, us_track_n(t->stack) - 1);
	if (choice & US_FUNCTION_UNTIL)
		us_events_switch(t->events->head, false);
}

/* The frame on top exists; since when is not known. */
void us_track_note_found(struct us_tracker *t)
{
	const struct us_track_frame *x = last_frame(t);
	if (x->traced)
		us_track_note(t, US_EVENT_OPEN, x->function->number,
			      us_track_n(t->stack) - 1);
}

/* The frame on top of that stack continues on this one. */
void us_track_note_moved(struct us_tracker *t, const struct us_track_stack *from,
			 uint32_t function)
{
	if (from->epoch == us_events_epoch(t->events))
		us_track_note(t, US_EVENT_STACK, from->number | US_EVENT_MOVED,
			      us_track_n(t->stack));
	else
		us_track_note(t, US_EVENT_OPEN, function, us_track_n(t->stack));
}
